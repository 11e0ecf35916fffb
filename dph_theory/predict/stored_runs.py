"""What stored runs retained of Pass@k: what a run like them may expect, and which settings retained more.

`measured.json` holds rows of the stored records; a test compares them.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..divergences import FORWARD_KL, REVERSE_KL
from ..losses.kl_terms import KL_FORMS
from ..losses.objective import UNDIVIDED
from .configuration import UNGROUPED, Configuration
from .interpretation import READERS, minimal_change, with_change

GAIN = 0.02
"""Advice retains at least this much more of Pass@k."""
RETAINED = 0.9
"""Pass@k is retained of which at least this share is left."""
NONE, REHEARSAL, FALLS = "none", "rehearsal", "to fall"
_KINDS = {FORWARD_KL: "forward", REVERSE_KL: "reverse"}
_FORMS = {NONE: "", "k3": "k3", "k2": "k2", "k3_corrected": "corrected k3"}
_SCALES = {**dict.fromkeys(UNDIVIDED, "none"), "std": "std", "population_std": "std", "mean": "mean"}
"""The scale of the stored runs whose gradient is this one's, up to a factor."""


@dataclass(frozen=True)
class StoredRuns:
    """Stored runs of one method: Pass@1 and Pass@k of held-out prompts, and of trained ones, base and end."""

    model: str
    parameters: int
    task: str
    method: str
    scale: str
    """What the advantage is divided by."""
    form: str
    """Of the KL on trained prompts: an estimator, or none."""
    kl: str
    """Which kind of KL that is, or else a rehearsal, a target, or none."""
    strength: float
    steps: int | None
    seeds: int
    k: int
    held_out: Mapping[str, Sequence[float]]
    trained: Mapping[str, Sequence[float]] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Pass@k of held-out prompts at the base and at the end."""
        return self.held_out["base"][1], self.held_out["end"][1]

    @property
    def setting(self) -> str:
        """The form of the KL, or the method that rehearses, and its coefficient."""
        form = _FORMS[self.form] or self.method
        return f"{form} at {self.strength:g}" if self.strength else f"{form} without a KL"

    @property
    def outcome(self) -> str:
        """The model, the length or the task, and both ends."""
        base, end = self.ends
        steps = f"{self.steps} steps" if self.steps else self.task
        return f"on {self.model} ({steps}): {base:.3f} to {end:.3f} (Pass@{self.k})"


@dataclass(frozen=True)
class DomainErrors:
    """Forecasts made before their runs, by how far the first step moves log odds: on so many models.

    rms: of held-out Pass@k; right: in how many settings the direction was, of those that moved by 0.05.
    """

    models: int
    settings: int
    rms: float
    right: int
    moved: int


@dataclass(frozen=True)
class ForecastErrors:
    """Forecasts of stored runs: of held-out Pass@k less the runs' own, and of which prompts are lost.

    within, beyond: of those whose first step moves log odds by at most HOLDS_TO, and by more; constrained:
    the mean where few prompts are constrained to the base; named: how many prompts were named as lost,
    named_lost: how many of them were, lost: how many were at all.
    """

    within: DomainErrors
    beyond: DomainErrors
    constrained: float
    named: int
    named_lost: int
    lost: int


@dataclass(frozen=True)
class Expectation:
    """What stored runs lead to expect of held-out Pass@k at large k.

    course: what becomes of it, "" where that is not known, and reason, why not; nearest: of each model the
    stored run with the same kind of KL and advantage whose coefficient is nearest, the largest model first.
    """

    course: str
    reason: str
    nearest: tuple[StoredRuns, ...] = ()

    def lines(self, configuration: Configuration) -> Iterator[str]:
        """The answer, with the nearest stored runs."""
        answer = f"Expect held-out Pass@k {self.course} at large k"
        if not self.course:
            answer = f"Held-out Pass@k at large k is not known: {self.reason}"
        if not self.nearest:
            yield f"{answer}."
            return
        first, *further = self.nearest
        form, coefficient = _form(configuration), f"{_coefficient(configuration):g}"
        own = coefficient if form in (_FORMS[first.form], first.method) else f"{form} at {coefficient}"
        yours = "" if own == f"{first.strength:g}" else f" (yours: {own})"
        yield f"{answer}: nearest stored run, {first.setting}{yours} {first.outcome}."
        for row in further:
            yield f"Also {row.outcome}."


def course(base: float, end: float) -> str:
    """What becomes of Pass@k, in words."""
    return FALLS if end < RETAINED * base else "to be retained" if end * RETAINED <= base else "to rise"


def setting_rows(measure: str, rows: Iterable[tuple[str, float, float]]) -> list[str]:
    """Settings in a column, with held-out Pass@k and trained Pass@1 at the end."""
    head = f"{'setting':48}{measure:>17}{'trained Pass@1':>15}"
    return [head, *(f"{name}{end:>{65 - len(name)}.3f}{trained:>15.3f}" for name, end, trained in rows)]


@cache
def _stored() -> Mapping[str, Any]:
    text = Path(__file__).with_name("measured.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def measured() -> tuple[StoredRuns, ...]:
    """The stored runs, those of the largest model first."""
    return tuple(sorted((StoredRuns(**row) for row in _stored()["runs"]), key=lambda row: -row.parameters))


def forecast_errors() -> ForecastErrors:
    """How far forecasts of stored runs were off."""
    fields = dict(_stored()["errors"])
    within, beyond = (DomainErrors(**fields.pop(name)) for name in ("within", "beyond"))
    return ForecastErrors(within, beyond, **fields)


def kind(configuration: Configuration) -> str | None:
    """The kind of a run's KL or a rehearsal, if stored runs have it; None for another, as in the reward."""
    objective = configuration.objective
    if configuration.rehearsal is not None:
        return None if objective.coefficient else REHEARSAL
    if not objective.coefficient:
        return NONE
    term = objective.term
    return _KINDS.get(term.divergence) if term and term.token and term.divergence else None


def _coefficient(configuration: Configuration) -> float:
    """That of the KL, or of a rehearsal."""
    rehearsal = configuration.rehearsal
    return rehearsal.eta if rehearsal is not None else configuration.objective.coefficient


def _form(configuration: Configuration) -> str:
    """A run's own form of the KL, or the method that rehearses; "" without either."""
    term = configuration.objective.term
    if configuration.rehearsal is not None:
        return configuration.rehearsal.method
    if term is None or not configuration.objective.coefficient:
        return ""
    own = term.place, term.estimator
    names = (name for name, form in KL_FORMS.items() if (form.place, form.estimator) == own)
    return _FORMS.get(next(names, ""), configuration.stationary_kl.partition(";")[0])


def similar(configuration: Configuration) -> list[StoredRuns]:
    """Stored runs with the same kind of KL and advantage, the nearest in coefficient and form first."""
    objective, form = configuration.objective, _form(configuration)
    if objective.mixed_only or objective.advantage.baseline != "mean":
        return []
    fields = kind(configuration), _SCALES.get(objective.advantage.scale or "")

    def distance(row: StoredRuns) -> tuple[float, bool]:
        between = abs(math.log(row.strength / _coefficient(configuration))) if row.strength else 0.0
        return between, _FORMS[row.form] != form

    rows = [row for row in measured() if (row.kl, row.scale) == fields and row.method != "DAPO"]
    if configuration.rehearsal is not None:
        rows = [row for row in rows if row.method == form]
    return sorted(rows, key=distance)


def expectation(configuration: Configuration) -> Expectation:
    """What stored runs lead to expect: known where those with smaller and larger coefficients agree."""
    versions = [expectation(version) for version in configuration.by_version]
    if versions and versions[0].course and len({version.course for version in versions}) == 1:
        return versions[-1]  # Whichever version it is.
    if reason := _unlike(configuration):
        return Expectation("", reason)
    strength, by_model = _coefficient(configuration), dict[str, StoredRuns]()
    for row in similar(configuration):
        by_model.setdefault(row.model, row)
    nearest = tuple(sorted(by_model.values(), key=measured().index))
    model, scale, kls = nearest[0].model, nearest[0].scale, (NONE, nearest[0].kl)
    rows = [row for row in measured() if (row.model, row.scale) == (model, scale) and row.kl in kls]
    if configuration.rehearsal is not None:
        rows = [row for row in rows if row.method in ("GRPO", nearest[0].method)]
    rows.sort(key=lambda row: row.strength)
    smaller = [row for row in rows if row.strength <= strength][-1]
    larger = [row for row in rows if row.strength >= strength][:1]
    courses = {course(*row.ends) for row in (smaller, *larger)}
    if len(courses) > 1:
        reason = "stored runs with smaller and larger coefficients differ"
    elif not larger and FALLS in courses:
        reason = "this coefficient is larger than any stored run's, and may retain more"
    return Expectation("" if reason else courses.pop(), reason, nearest)


def _unlike(configuration: Configuration) -> str:
    """Why no stored run is like this one, "" where one is."""
    objective, term = configuration.objective, configuration.objective.term
    if objective.undecided:
        return f"it depends on {', '.join(dict.fromkeys(objective.undecided))}"
    if configuration.rehearsal is not None and not similar(configuration):
        return f"no stored run rehearses like this one ({configuration.rehearsal.method})"
    if objective.coefficient and term is not None and kind(configuration) is None:
        place = "loss" if term.token else "reward"
        return f"no stored run has a KL like this one ({term.estimator} in the {place})"
    if objective.unpredicted and not objective.unpredicted.startswith(UNGROUPED):
        return objective.unpredicted
    if similar(configuration):
        return ""
    words = "equal groups left out" if objective.mixed_only else objective.advantage.words
    with_kl = " beside a KL" if objective.coefficient else ""
    return f"no stored run has an advantage like this one{with_kl} ({words})"


def advice(
    settings: Mapping[str, Any], trainer: str, configuration: Configuration, version: str | None
) -> tuple[dict[str, Any], StoredRuns] | None:
    """The fewest settings with which stored runs retained more of Pass@k than those most like this run.

    The strengths are those of the runs, whose steps and rewards the user's may not have. None where the
    trainer has no such setting, nothing retained more, or no stored run is like this one.
    """
    own, reader = expectation(configuration).nearest, READERS[trainer]

    def like(change: Mapping[str, Any], row: StoredRuns) -> bool:
        changed = with_change(settings, change, trainer, version)
        return changed is not None and reader.coefficient in change and row in similar(changed)

    for row in sorted(measured(), key=lambda row: -row.ends[1]) if own else ():
        if row.model != own[0].model or not row.strength or row.ends[1] < own[0].ends[1] + GAIN:
            continue
        for kl_settings in reader.retains:
            change = {**kl_settings, reader.coefficient: row.strength}
            if like(change, row):
                fewest = minimal_change(change, partial(like, row=row))
                return {name: value for name, value in fewest.items() if settings.get(name) != value}, row
    return None
