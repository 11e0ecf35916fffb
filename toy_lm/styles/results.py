"""What the experiment finds: the values that a record holds, their summaries, sentences and tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from dph_theory.intervals import Interval, mean_interval, probability_interval
from dph_theory.meter import LeadTime, Warnings, lead_time
from dph_theory.support.record import checked, from_json
from dph_theory.support.table import Table

KIND = "toy.styles"
Split: TypeAlias = Literal["train", "held_out"]
SPLITS: tuple[Split, ...] = ("train", "held_out")


@dataclass(frozen=True, kw_only=True)
class End:
    """What a policy does on some prompts; see `toy_lm.styles.evaluate.at_the_end`."""

    pass_at_k: tuple[float, ...]
    style_entropy: float
    distinct_styles: float
    style_histogram: tuple[float, ...]
    excess: float
    base_solved: int
    base_unsolved: int
    retention: float | None = None
    exploration: float | None = None


@dataclass(frozen=True, kw_only=True)
class _OnPrompts:
    train: End
    held_out: End

    def on(self, split: Split) -> End:
        """What it does on these prompts."""
        return self.train if split == "train" else self.held_out


@dataclass(frozen=True, kw_only=True)
class Base(_OnPrompts):
    """The model that a seed's trainings start from, and how much of it is rehearsed."""

    seed: int
    rehearsed_prompts: int
    rehearsed_samples: int


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Means over training prompts along a training, after these updates."""

    update: tuple[int, ...]
    pass_at_8: tuple[float, ...]
    pass_at_16: tuple[float, ...]
    excess: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Training(_OnPrompts):
    """A training: its variant, the questions it answers, its curve and what it ends as.

    On the rehearsed prompts: the guarantee exp(-KL(p_* || pi)) and the pass rate at the end, and the least
    difference of the two on any prompt at any time (theory C4).
    """

    name: str
    label: str
    place: str
    seed: int
    updates: int
    groups: tuple[str, ...]
    curve: Curve
    guarantee: float
    rehearsed_pass: float
    guarantee_margin: float
    coefficient: float | None = None
    strength: float | None = None
    mu: float | None = None
    alpha: float | None = None


@dataclass(frozen=True, kw_only=True)
class StylesResults:
    """Everything in a record of the experiment; k are those of Pass@k, and bases come one a seed."""

    k: tuple[int, ...]
    bases: tuple[Base, ...]
    runs: tuple[Training, ...]

    def of_group(self, group: str) -> Iterator[Training]:
        """The runs that answer a question: "main", "strengths", "places" or "long"; see `Config`."""
        return (run for run in self.runs if group in run.groups)

    def ends(self, split: Split) -> dict[str, list[End]]:
        """The ends of the comparison on these prompts by label, one a seed; the base is "base"."""
        found = {"base": [base.on(split) for base in self.bases]}
        for run in self.of_group("main"):
            found.setdefault(run.label, []).append(run.on(split))
        return found

    def pass_at(self, end: End, k: int) -> float:
        """Pass@k of an end, for a k that was measured."""
        return end.pass_at_k[self.k.index(k)]


def read(record: Any) -> StylesResults:
    """The results of a record; ValueError unless it is one of this experiment."""
    return from_json(StylesResults, checked(record, KIND)["results"])


FALL = 0.05
"""How far Pass@16 on the training prompts must fall from its highest to count as fallen."""
RISES = (0.1, 0.25, 0.5)
"""How far the excess KL must rise, in nats, to count as a warning."""


@dataclass(frozen=True, kw_only=True)
class MethodScore:
    """Means over seeds with 95% intervals (`dph_theory.intervals`); None where no seed has the measure."""

    pass_at_1: Interval
    pass_at_16: Interval
    pass_at_256: Interval
    style_entropy: Interval
    distinct_styles: Interval
    excess: Interval
    retention: Interval | None
    exploration: Interval | None


def scores(results: StylesResults, split: Split) -> dict[str, MethodScore]:
    """The methods of the comparison by label, the base first."""
    return {label: _score(results, ends) for label, ends in results.ends(split).items()}


def warnings(results: StylesResults) -> list[Warnings]:
    """The meter at each of RISES, run by run of the comparison: when it warned and when Pass@16 fell."""
    return [Warnings(rise, tuple(_lead(run, rise) for run in results.of_group("main"))) for rise in RISES]


def _score(results: StylesResults, ends: Sequence[End]) -> MethodScore:
    def passed(k: int) -> Interval:
        return probability_interval([results.pass_at(end, k) for end in ends])

    return MethodScore(
        pass_at_1=passed(1),
        pass_at_16=passed(16),
        pass_at_256=passed(256),
        style_entropy=mean_interval([end.style_entropy for end in ends]),
        distinct_styles=mean_interval([end.distinct_styles for end in ends]),
        excess=mean_interval([end.excess for end in ends]),
        retention=_known(end.retention for end in ends),
        exploration=_known(end.exploration for end in ends),
    )


def _known(shares: Iterable[float | None]) -> Interval | None:
    """Over the seeds that have such prompts."""
    known = [share for share in shares if share is not None]
    return probability_interval(known) if known else None


def _lead(run: Training, rise: float) -> LeadTime:
    curve = run.curve
    return lead_time(
        np.array(curve.update), np.array(curve.excess), np.array(curve.pass_at_16), rise=rise, fall=FALL
    )


def findings(results: StylesResults) -> list[str]:
    """Which method keeps the most and the least on training prompts, what others gain, and the meter."""
    base, *methods = scores(results, "train").items()
    best, worst = (choose(methods, key=lambda m: float(m[1].pass_at_16.mean)) for choose in (max, min))
    held_base, *held_out = scores(results, "held_out").values()
    better = sum(bool(score.pass_at_16.mean > held_base.pass_at_16.mean) for score in held_out)
    meter = warnings(results)[1]
    fallen, stood = len(meter.fallen), len(meter.leads) - len(meter.fallen)
    return [
        f"Pass@1 and Pass@16 on training prompts, means over {len(results.bases)} seed(s): {_told(*base)}; "
        f"the method with the highest Pass@16 is {_told(*best)}, the one with the lowest {_told(*worst)}.",
        f"On held-out prompts {better} of {len(held_out)} methods exceed the base's Pass@16 of "
        f"{held_base.pass_at_16.mean:.3f}.",
        f"A rise of the excess KL by {meter.rise:g} nats came before a fall of Pass@16 by {FALL:g} in "
        f"{meter.warned_before} of the {fallen} runs that fell, and in {meter.false_alarms} of the {stood} "
        "that did not.",
    ]


def _told(label: str, score: MethodScore) -> str:
    return f"{label} ({score.pass_at_1.mean:.3f} and {score.pass_at_16.mean:.3f})"


_COLUMNS = {
    "pass_at_1": "Pass@1",
    "pass_at_16": "Pass@16",
    "pass_at_256": "Pass@256",
    "style_entropy": "style entropy",
    "distinct_styles": "styles in 32",
    "excess": "excess KL",
    "retention": "retained",
    "exploration": "newly solved",
}


def tables(record: Mapping[str, Any]) -> list[Table]:
    """The methods on training and held-out prompts, the meter, then what was swept.

    Raises ValueError for a record of another kind.
    """
    results = read(record)
    found = [
        _methods(results, "train", "training prompts"),
        _methods(results, "held_out", "held-out prompts"),
    ]
    swept = [run for run in results.runs if set(run.groups) - {"main"}]
    return [*found, _meter(results), *([_swept(results, swept)] if swept else [])]


def _methods(results: StylesResults, split: Split, title: str) -> Table:
    seeds = len(results.bases)
    shown: list[tuple[str, ...]] = []
    for label, score in scores(results, split).items():
        shown.append((label, *(_cell(getattr(score, name)) for name in _COLUMNS)))
    return Table.of(("", *_COLUMNS.values()), shown, f"{title} (seeds: {seeds}; in brackets 95% intervals)")


def _cell(found: Interval | None) -> str:
    if found is None:
        return "-"
    known = f" ({found.low:.3f}, {found.high:.3f})" if np.isfinite(found.low) else ""
    return f"{found.mean:.3f}{known}"


def _meter(results: StylesResults) -> Table:
    """Every run: when Pass@16 fell, and how many updates earlier the excess KL had risen."""
    found = warnings(results)
    columns = [f"lead at {warning.rise:g} nats" for warning in found]
    shown: list[tuple[str, ...]] = []
    for run, *leads in zip(results.of_group("main"), *(warning.leads for warning in found), strict=True):
        fell = leads[0].coverage_step
        shown.append(
            (run.label, f"{run.seed}", "-" if fell is None else f"{fell}", *map(_lead_in_words, leads))
        )
    return Table.of(
        ("", "seed", "Pass@16 fell at", *columns), shown, "lead of the collapse meter, in updates"
    )


def _lead_in_words(lead: LeadTime) -> str:
    if lead.coverage_step is None:
        return "-" if lead.meter_step is None else "false alarm"
    return "no warning" if lead.lead is None else f"{lead.lead:+d}"


def _swept(results: StylesResults, runs: Sequence[Training]) -> Table:
    columns = ("Pass@1", "Pass@16", "style entropy", "excess KL", "guarantee", "pass rate on D_pef")
    title = "strengths, places and lengths on training prompts, first seed"
    shown: list[tuple[str, ...]] = []
    first = min(run.seed for run in runs)
    for run in sorted(runs, key=lambda run: (run.name, run.place, run.updates, run.strength or 0)):
        if run.seed == first:
            passed = [results.pass_at(run.train, k) for k in (1, 16)]
            numbers = (*passed, run.train.style_entropy, run.train.excess, run.guarantee, run.rehearsed_pass)
            cells = (f"{x:.3f}" for x in (*numbers, run.guarantee_margin))
            shown.append((run.label, run.place, f"{run.updates}", *cells))
    return Table.of(("", "place", "updates", *columns, "least margin"), shown, title)
