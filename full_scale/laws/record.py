"""What is kept of a run, and of runs taken together: how many held, what figures read, what is printed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dph_theory.support.record import as_json

from ..evaluation.exact import Exact
from .runs import EXPERIMENTS, Run


@dataclass(frozen=True)
class Bounds:
    """The most by which a run that obeys its law may miss it."""

    validity: float
    """Of the mean |V - law's V|."""
    kl: float
    """Of the mean KL(run || law), in nats.

    Chosen before any run was held to it. By Pinsker's inequality the run and the law then give no set of
    answers probabilities further apart than sqrt(kl/2), .1 (selection: .07); and it takes 1/kl answers, 50
    (100), until they carry a nat of evidence that the run is not the law. Validity and the nearest law alone
    let a run hold whose valid answers have collapsed: P(first | valid) .99 for .90 are .07 nats.
    """


BARS, SELECTION_BARS = Bounds(0.02, 0.02), Bounds(0.01, 0.01)


@dataclass(frozen=True)
class PredictedLaw:
    """A law's exact measures, computed before the run; the run's own law stands first among its rivals."""

    law: str
    exact: Exact


@dataclass(frozen=True)
class RunPoint:
    """The policy after so many steps: its measures, and KL(run || law) of each law predicted, by name."""

    step: int
    exact: Exact
    kl: Mapping[str, float]


@dataclass(frozen=True)
class FinishedRun:
    """A finished run with what was predicted of it."""

    run: Run
    predictions: tuple[PredictedLaw, ...]
    course: tuple[RunPoint, ...]
    limits: Mapping[str, float]
    """KL(limit || run) of what each form selects as beta -> 0, and of a run's targets, by name."""
    seconds: float

    @property
    def last(self) -> RunPoint:
        """The end of the run."""
        return self.course[-1]

    @property
    def law(self) -> PredictedLaw | None:
        """What theory says of the run's end; None where it says nothing."""
        return self.predictions[0] if self.predictions else None

    @property
    def distances(self) -> Mapping[str, float]:
        """KL(run || law) of each law predicted; of a target (`Run.target`), KL(target || run)."""
        known = {**self.limits, **self.last.kl}
        return {prediction.law: known[prediction.law] for prediction in self.predictions}

    @property
    def nearest(self) -> str | None:
        """The law at the least distance; None where none was predicted."""
        return min(self.distances, key=self.distances.__getitem__, default=None)

    @property
    def kl_to_law(self) -> float | None:
        """The distance to the run's own law."""
        return self.distances[self.law.law] if self.law else None

    @property
    def gap(self) -> float | None:
        """The mean over rows of |V - V of the predicted law|."""
        if self.law is None:
            return None
        pairs = list(zip(self.last.exact.validity, self.law.exact.validity, strict=True))
        return sum(abs(found - predicted) for found, predicted in pairs) / len(pairs)

    @property
    def bars(self) -> Bounds:
        """Those of the run's task."""
        return SELECTION_BARS if self.run.task.startswith("selection") else BARS

    @property
    def verdict(self) -> str:
        """held, or what was missed: the law (a rival is nearer), the validity (beyond its bar), or both."""
        return self._verdict(("law", "validity"))

    @property
    def full_verdict(self) -> str:
        """The same, and whether the answers are distributed as by the law (the bar on the KL to it)."""
        return self._verdict(("law", "validity", "answers"))

    def _verdict(self, asked: Sequence[str]) -> str:
        if self.law is None or self.gap is None or self.kl_to_law is None:
            return "no law"
        misses = {
            "law": self.nearest != self.law.law,
            "validity": self.gap > self.bars.validity,
            "answers": self.kl_to_law > self.bars.kl,
        }
        missed = [name for name in asked if misses[name]]
        return f"missed: {' and '.join(missed)}" if missed else "held"


@dataclass(frozen=True)
class Tally:
    """How many runs of an experiment held to their law."""

    experiment: str
    question: str
    to_the_end: bool
    """Whether its runs are meant to reach their law: only these are judged."""
    planned: int
    """Runs that it is to have, over all its seeds."""
    runs: int
    judged: int
    held: int
    """By all bars."""
    held_but_for_answers: int
    """By the nearest law and the validity alone."""


def is_judged(outcome: FinishedRun) -> bool:
    """Whether the run has a law and was meant to reach it."""
    name = outcome.run.experiment
    return outcome.law is not None and (name not in EXPERIMENTS or EXPERIMENTS[name].to_the_end)


def tallies(outcomes: Sequence[FinishedRun]) -> list[Tally]:
    """A `Tally` for each experiment, in the order of the runs."""
    return [
        _tally(name, [outcome for outcome in outcomes if outcome.run.experiment == name])
        for name in {outcome.run.experiment: None for outcome in outcomes}
    ]


def _tally(name: str, outcomes: Sequence[FinishedRun]) -> Tally:
    known = EXPERIMENTS.get(name)
    judged = [outcome for outcome in outcomes if is_judged(outcome)]
    return Tally(
        experiment=name,
        question=known.question if known else "",
        to_the_end=known.to_the_end if known else True,
        planned=sum(len(known.runs(seed)) for seed in range(known.seeds)) if known else len(outcomes),
        runs=len(outcomes),
        judged=len(judged),
        held=sum(outcome.full_verdict == "held" for outcome in judged),
        held_but_for_answers=sum(outcome.verdict == "held" for outcome in judged),
    )


def summary(outcomes: Sequence[FinishedRun]) -> dict[str, Any]:
    """The record's results, compact: `runs`, a column a fact, and `courses`, along training.

    runs: every field of `Run`; digest, judged (its experiment runs to the end, and has a law), law
    (predicted), nearest, verdict, full_verdict, gap, kl_to_law; MEASURES at the end, and the first three at
    its law as law_validity and so on, means over rows; "kl <law>": KL(run || law); "limit <law>":
    KL(limit || run); null where there is none. experiments: a `Tally` each. courses, of the experiments in
    ALONG: digest, step and what stands there. Five digits, more than a run can tell, few enough to read.
    """
    facts = [_facts(outcome) for outcome in outcomes]
    columns = {name: None for fact in facts for name in fact}
    results = {
        "experiments": tallies(outcomes),
        "runs": {name: [fact.get(name) for fact in facts] for name in columns},
        "courses": [_course(outcome) for outcome in outcomes if outcome.run.experiment in ALONG],
    }
    return as_json(results, digits=5)


MEASURES = ("validity", "first_share", "effective_answers", "excess_kl", "favourite_share", "pass_at_16")
ALONG = {"way_back": ("first_share",), "budget_and_family": ("validity", "excess_kl")}
"""Experiments whose courses are drawn, and what of them."""


def _facts(outcome: FinishedRun) -> dict[str, Any]:
    """A run's line of the table."""
    law = outcome.law
    at_law = {f"law_{name}": _measure(law.exact, name) for name in MEASURES[:3]} if law else {}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "judged": is_judged(outcome),
        "law": law.law if law else None,
        "nearest": outcome.nearest,
        "verdict": outcome.verdict,
        "full_verdict": outcome.full_verdict,
        "gap": outcome.gap,
        "kl_to_law": outcome.kl_to_law,
        **{name: _measure(outcome.last.exact, name) for name in MEASURES},
        **at_law,
        **{f"kl {name}": value for name, value in outcome.last.kl.items()},
        **{f"limit {name}": value for name, value in outcome.limits.items()},
        "seconds": round(outcome.seconds, 1),
    }


def _course(outcome: FinishedRun) -> dict[str, Any]:
    names = ALONG[outcome.run.experiment]
    measured = {name: [_measure(point.exact, name) for point in outcome.course] for name in names}
    return {"digest": outcome.run.digest, "step": [point.step for point in outcome.course], **measured}


def _measure(exact: Exact, name: str) -> Any:
    if name == "pass_at_16":
        return exact.pass_at_k[-1]
    return _mean(exact.validity) if name == "validity" else getattr(exact, name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


HEADERS = (
    "task",
    "form",
    "beta",
    "G",
    "seed",
    "law predicted",
    "V, law",
    "V, run",
    "nearest",
    "KL to it",
    "",
)


def table_rows(outcomes: Sequence[FinishedRun]) -> list[tuple[str, ...]]:
    """A row for each run, under HEADERS."""
    return [_row(outcome) for outcome in outcomes]


def _row(outcome: FinishedRun) -> tuple[str, ...]:
    run, law = outcome.run, outcome.law
    return (
        run.task,
        run.form,
        f"{run.beta:g}",
        f"{run.group_size}{', normalised' if run.scale == 'group' else ''}",
        str(run.seed),
        law.law if law else "",
        f"{_mean(law.exact.validity):.4f}" if law else "",
        f"{_mean(outcome.last.exact.validity):.4f}",
        outcome.nearest or "",
        f"{outcome.distances[outcome.nearest]:.4f}" if outcome.nearest else "",
        outcome.full_verdict,
    )
