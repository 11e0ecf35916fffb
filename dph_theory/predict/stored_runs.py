"""Pass@k that measured runs retained: the closest run to given settings, and the settings that retained more.

`measured.json` contains rows of stored records, and a test compares these rows with the records. Rows of
another record, with the fields of `StoredRuns`, are added to the file: the first in the file is quoted first.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..divergences import FORWARD_KL, REVERSE_KL
from ..losses.objective import UNDIVIDED, Objective
from .configuration import short_form

GAIN = 0.02
"""Advice retains at least this much more of Pass@k."""
RETAINED = 0.9
"""Pass@k counts as retained if at least this share of it is left."""
NONE, REHEARSAL, FALLS = "none", "rehearsal", "fall"
_KINDS = {FORWARD_KL: "forward", REVERSE_KL: "reverse"}
_FORMS = {NONE: "", "k3": "k3", "k2": "k2", "k3_corrected": "k3 with importance weight"}
_PLAIN = ("GRPO", "MaxRL")
"""Methods whose runs with and without a KL are compared."""
_SCALES = {**dict.fromkeys(UNDIVIDED, "none"), "std": "std", "population_std": "std", "mean": "mean"}
"""The scale of the measured runs whose gradient is the same up to a factor."""


@dataclass(frozen=True)
class StoredRuns:
    """Measured runs of one setting: Pass@1 and Pass@k at the base and the end, held out and trained.

    scale: the divisor of the advantage; form: the estimator of the KL on trained prompts, or "none"; kl: the
    kind of that KL, or "rehearsal", "target", "none"; strength: the coefficient.
    """

    model: str
    task: str
    method: str
    scale: str
    form: str
    kl: str
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
    def own_form(self) -> str:
        """The form of the KL as `short_form` names it, or the method that rehearses; "" without a KL."""
        return self.method if self.kl == REHEARSAL else _FORMS[self.form]

    @property
    def setting(self) -> str:
        """The form of the KL, or the method that rehearses, and its coefficient."""
        form = self.own_form or self.method
        return f"{form}, coefficient {self.strength:g}" if self.strength else f"{form} without a KL"

    @property
    def name(self) -> str:
        """The method, with the form and the coefficient of its KL."""
        return self.method if self.own_form in ("", self.method) else f"{self.method} and {self.setting}"

    @property
    def place(self) -> str:
        """The model, the task, and the length of the training."""
        return f"{self.model}, {self.task}, {self.steps} steps"

    @property
    def outcome(self) -> str:
        """The change of held-out Pass@k in numbers."""
        base, end = self.ends
        return f"Pass@{self.k} went from {base:.3f} to {end:.3f}"


def course(base: float, end: float) -> str:
    """The change of Pass@k as a verb."""
    return FALLS if end < RETAINED * base else "be retained" if end * RETAINED <= base else "rise"


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
    """The stored runs in the order in which they are quoted."""
    return tuple(StoredRuns(**row) for row in _stored()["runs"])


def forecast_errors() -> Mapping[str, Any]:
    """Return the errors of forecasts made before their runs, for held-out Pass@k and for lost prompts.

    Returns:
        A mapping. `within` and `beyond` have the errors of forecasts whose first step changes log odds by at
        most HOLDS_TO and by more, with the number that had the correct direction. `constrained` is the mean
        error of settings with a penalty on a few prompts. `named`, `named_lost` and `lost` count the prompts
        named as lost, those of them that were lost, and all lost prompts.
    """
    return dict(_stored()["errors"])


@dataclass(frozen=True)
class Expectation:
    """Expected change of held-out Pass@k at large k, from the closest measured runs.

    Attributes:
        course: Change of Pass@k as a verb; empty if not known.
        reason: Why the change is not known.
        nearest: Closest runs of the first task that has such runs.
        differences: Differences between the given settings and the closest runs, in words.
    """

    course: str
    reason: str
    nearest: StoredRuns | None = None
    differences: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """The answer, the closest measured run, and how far the settings are from that run."""
        if self.course:
            yield f"Held-out Pass@k will probably {self.course} at large k."
        else:
            yield f"Whether held-out Pass@k falls at large k is not known: {self.reason}."
        if (run := self.nearest) is not None:
            yield f"In the closest measured run ({run.setting}, {run.place}) {run.outcome}."
            differs = f" Your settings differ: {'; '.join(self.differences)}." if self.differences else ""
            yield f"Those numbers are that run's, not yours.{differs}"


def kind(objective: Objective) -> str | None:
    """The kind of an objective's KL, or rehearsal; None for a kind that no measured run has.

    An unknown KL with a coefficient of at most the least measured one counts as none: with that coefficient
    Pass@k fell too, on most seeds as without a KL.
    """
    if objective.rehearsal is not None:
        return None if objective.coefficient else REHEARSAL
    least = min(row.strength for row in measured() if row.kl in _KINDS.values())
    if not objective.coefficient or (objective.divergence is None and objective.coefficient <= least):
        return NONE if not objective.undecided else None
    return _KINDS.get(objective.divergence) if objective.divergence else None


def coefficient_of(objective: Objective) -> float:
    """The coefficient of the KL, or of a rehearsal."""
    return objective.rehearsal.eta if objective.rehearsal is not None else objective.coefficient


def _method(objective: Objective) -> str:
    if objective.rehearsal is not None:
        by_mean = (objective.rehearsal.method, objective.advantage.scale) == ("DPH-F", "mean")
        return "DPH-MaxRL" if by_mean else objective.rehearsal.method
    return short_form(objective.term) if objective.term is not None and objective.coefficient else ""


def similar(objective: Objective) -> list[StoredRuns]:
    """Measured runs with the same kind of KL; first those with the same advantage, then by coefficient."""
    scale, form = _SCALES.get(objective.advantage.scale or ""), _method(objective)

    def distance(row: StoredRuns) -> tuple[bool, bool, float, bool]:
        own = coefficient_of(objective)
        between = abs(math.log(row.strength / own)) if row.strength and own else 0.0
        drops = (row.method == "DAPO") != (objective.mixed_only and not objective.coefficient)
        return row.scale != (scale or "std"), drops, between, row.own_form != form

    rows = [row for row in measured() if row.kl == kind(objective)]
    if objective.rehearsal is not None:
        rows = [row for row in rows if row.method == form]
    return sorted(rows, key=distance)


def _first_of(row: StoredRuns) -> StoredRuns:
    """The first stored run of a run's task."""
    return next(other for other in measured() if other.task == row.task)


def expectation(objective: Objective) -> Expectation:
    """The expectation of an objective: known where runs with smaller and larger coefficients agree."""
    rows = similar(objective)
    if not rows or objective.advantage.words.startswith("zero"):
        return Expectation("", _unknown(objective))
    nearest = min(rows, key=lambda row: measured().index(_first_of(row)))
    strength = coefficient_of(objective) if kind(objective) != NONE else 0.0
    kls, methods = (NONE, nearest.kl), (*_PLAIN, nearest.method)
    comparable = [row for row in measured() if (row.task, row.scale) == (nearest.task, nearest.scale)
                  and row.kl in kls and row.method in methods]  # fmt: skip
    comparable.sort(key=lambda row: row.strength)
    smaller = [row for row in comparable if row.strength <= strength][-1:]
    larger = [row for row in comparable if row.strength >= strength][:1]
    courses, reason = {course(*row.ends) for row in smaller + larger}, ""
    other = next((row for row in rows if row.task != nearest.task and row.scale == nearest.scale), None)
    if len(courses) > 1:
        reason = "measured runs with smaller and larger coefficients differ"
    elif not larger and FALLS in courses:
        reason = "this coefficient is larger than any measured run's, and may retain more"
    elif other is not None and course(*other.ends) not in courses:
        reason = f"measured runs differ by task ({other.model}, {other.task}: {other.outcome})"
    differences = tuple(_differences(objective, nearest))
    return Expectation("" if reason else courses.pop(), reason, nearest, differences)


def _unknown(objective: Objective) -> str:
    """The smallest part that is not known."""
    if objective.undecided:
        return f"it depends on {', '.join(dict.fromkeys(objective.undecided))}"
    if objective.rehearsal is not None:
        return f"no measured run rehearses like this one ({objective.rehearsal.method})"
    return objective.unpredicted or "no measured run has such a KL"


def _differences(objective: Objective, row: StoredRuns) -> Iterator[str]:
    """Differences between a run with this objective and a measured one, the most important first."""
    strength, form = coefficient_of(objective), _method(objective)
    if form and (form, strength) != (row.own_form, row.strength):
        yield f"{form} at {strength:g}"
    if _SCALES.get(objective.advantage.scale or "") != row.scale or objective.advantage.baseline != "mean":
        yield objective.advantage.words.partition(": ")[0]
    if objective.mixed_only and row.method != "DAPO":
        yield "groups of equal rewards are left out"
    reason = objective.unpredicted
    if reason and not reason.startswith("the advantage is"):
        yield reason.partition(": ")[0]


@dataclass(frozen=True)
class Advice:
    """Settings of a trainer, the measured runs that retained more of Pass@k with them, and those without."""

    settings: Sequence[str]
    runs: StoredRuns
    without: StoredRuns


def retained_more(
    objective: Objective, retains: Mapping[str, str], changed: Callable[[Sequence[str]], Objective]
) -> Advice | None:
    """The settings with which measured runs retained more of Pass@k than those closest to this run.

    Args:
        objective: The run's.
        retains: By form of a KL, settings that switch it on; the last is its coefficient, without a value.
        changed: From settings NAME=VALUE to the objective with them in place.

    Returns:
        The fewest settings and the measured runs; None if no such settings are known for this trainer.
    """
    closest: dict[str, StoredRuns] = {}
    for row in similar(objective):
        closest.setdefault(row.task, row)
    pairs = [(row, closest[row.task]) for row in measured() if row.form in retains and row.task in closest]
    pairs = [(row, own) for row, own in pairs if row.scale == own.scale and row.ends[1] >= own.ends[1] + GAIN]
    for row, own in sorted(pairs, key=lambda pair: -pair[0].ends[1]):
        settings = f"{retains[row.form]}{row.strength:g}".split()
        better = changed(settings)
        for setting in settings[:-1]:
            fewer = [other for other in settings if other != setting]
            settings = fewer if changed(fewer) == better else settings
        if kind(better) == row.kl and better.coefficient == row.strength:
            return Advice(settings, row, own)
    return None


def methods_that_retained(objective: Objective, trainer: str) -> str:
    """The methods that retained more of Pass@k than this run's, and the page with one of them; or ""."""
    rows = [row for row in measured() if row.task == measured()[0].task]
    scale = _SCALES.get(objective.advantage.scale or "", "std")
    same = [row for row in similar(objective) if row.task == rows[0].task and row.scale == scale]
    strength = coefficient_of(objective)
    same = sorted((row for row in same if row.strength <= strength), key=lambda row: -row.strength)
    if objective.rehearsal is not None and (not same or same[0].strength < strength):
        return ""
    own = [*same, *(row for row in rows if row.scale == scale and not row.own_form), rows[0]][0]
    better = [row for row in rows if row.kl in (NONE, REHEARSAL) and row.ends[1] >= own.ends[1] + GAIN]
    if not better:
        return ""
    shown = [own, *sorted(better, key=lambda row: row.ends[1])]
    ends = ", ".join(f"{row.ends[1]:.3f} with {row.name}" for row in shown)
    low, *_, high = sorted(row.held_out["end"][0] for row in shown)
    least, *_, most = sorted(row.seeds for row in shown)
    seeds = f"{least} to {most}" if least < most else f"{most}"
    return (
        f"On {own.task} ({own.model}, {own.steps} steps, {seeds} seeds) Pass@{own.k} ended at {ends}, "
        f"all at Pass@1 {low:.2f} to {high:.2f} (base: {own.ends[0]:.3f}). In "
        + ("verl: examples/verl_policy_loss.py." if trainer == "verl" else "TRL: examples/dph_on_trl.py.")
    )
