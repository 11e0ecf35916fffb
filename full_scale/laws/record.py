"""What is kept of runs: predictions before, measurements after, verdicts; the record that figures read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..evaluation.exact import Exact
from .run import Run

BAR, SELECTION_BAR = 0.02, 0.01
"""The largest mean |V - law's V| of a run that obeys its law; the second for selection tasks."""


@dataclass(frozen=True)
class Prediction:
    """A law's exact measures, computed before the run; the run's own law stands first among its rivals."""

    law: str
    exact: Exact


@dataclass(frozen=True)
class Point:
    """The policy after so many steps: its measures, and KL(run || law) of each law predicted, by name."""

    step: int
    exact: Exact
    kl: Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """A finished run with what was predicted of it."""

    run: Run
    predictions: tuple[Prediction, ...]
    course: tuple[Point, ...]
    limits: Mapping[str, float]
    """KL(limit || run) of what each form selects as beta -> 0, by name."""
    seconds: float

    @property
    def last(self) -> Point:
        """The end of the run."""
        return self.course[-1]

    @property
    def nearest(self) -> str | None:
        """The law of least KL(run || law); None where no law of theory E was predicted."""
        return min(self.last.kl, key=self.last.kl.__getitem__, default=None)

    @property
    def gap(self) -> float | None:
        """The mean over rows of |V - V of the predicted law|."""
        if not self.predictions:
            return None
        pairs = list(zip(self.last.exact.validity, self.predictions[0].exact.validity, strict=True))
        return sum(abs(found - predicted) for found, predicted in pairs) / len(pairs)

    @property
    def verdict(self) -> str:
        """held, or what was missed: the law (a rival is nearer), the validity (beyond the bar), or both."""
        if self.gap is None:
            return "no law"
        bar = SELECTION_BAR if self.run.task.startswith("selection") else BAR
        missed = [
            name
            for name, miss in (
                ("law", self.nearest != self.predictions[0].law),
                ("validity", self.gap > bar),
            )
            if miss
        ]
        return f"missed: {' and '.join(missed)}" if missed else "held"

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values; `outcome_from_json` reads it."""
        return asdict(self)


def prediction_from_json(value: Mapping[str, Any]) -> Prediction:
    """The prediction of these plain values."""
    return Prediction(value["law"], _exact(value["exact"]))


def outcome_from_json(value: Mapping[str, Any]) -> Outcome:
    """The outcome of these plain values."""
    return Outcome(
        run=Run(**value["run"]),
        predictions=tuple(prediction_from_json(entry) for entry in value["predictions"]),
        course=tuple(Point(p["step"], _exact(p["exact"]), p["kl"]) for p in value["course"]),
        limits=value["limits"],
        seconds=value["seconds"],
    )


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The record's results, compact: `runs`, a column a fact, and `courses`, along training.

    runs: every field of `Run`; digest, law (predicted), nearest, verdict, gap; MEASURES at the end, and
    the first three at its law as law_validity and so on, means over rows; "kl <law>": KL(run || law);
    "limit <law>": KL(limit || run); null where there is none. courses, of runs measured on the way:
    digest, step and MEASURES. Five digits.
    """
    facts = [_facts(outcome) for outcome in outcomes]
    columns = {name: None for fact in facts for name in fact}
    return {
        "runs": {name: [fact.get(name) for fact in facts] for name in columns},
        "courses": [_course(outcome) for outcome in outcomes if outcome.run.every],
    }


MEASURES = ("validity", "first_share", "effective_answers", "excess_kl", "favourite_share", "pass_at_16")


def _facts(outcome: Outcome) -> dict[str, Any]:
    """A run's line of the table."""
    law = outcome.predictions[0] if outcome.predictions else None
    at_law = {f"law_{name}": _measure(law.exact, name) for name in MEASURES[:3]} if law else {}
    return {
        **asdict(outcome.run),
        "digest": outcome.run.digest,
        "law": law.law if law else None,
        "nearest": outcome.nearest,
        "verdict": outcome.verdict,
        "gap": None if outcome.gap is None else _round(outcome.gap),
        **{name: _measure(outcome.last.exact, name) for name in MEASURES},
        **at_law,
        **{f"kl {name}": _round(value) for name, value in outcome.last.kl.items()},
        **{f"limit {name}": _round(value) for name, value in outcome.limits.items()},
        "seconds": round(outcome.seconds, 1),
    }


def _course(outcome: Outcome) -> dict[str, Any]:
    measured = {name: [_measure(point.exact, name) for point in outcome.course] for name in MEASURES}
    return {
        "digest": outcome.run.digest,
        "step": [point.step for point in outcome.course],
        **measured,
    }


def _measure(exact: Exact, name: str) -> float:
    if name == "pass_at_16":
        return _round(exact.pass_at_k[-1])
    value = getattr(exact, name)
    return _round(_mean(value) if name == "validity" else value)


def _exact(value: Mapping[str, Any]) -> Exact:
    return Exact(**{**value, "validity": tuple(value["validity"]), "pass_at_k": tuple(value["pass_at_k"])})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _round(value: float) -> float:
    """Five significant digits: more than a run can tell, few enough to read."""
    return float(f"{value:.5g}")


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


def table_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """A row for each run, under HEADERS."""
    return [_row(outcome) for outcome in outcomes]


def _row(outcome: Outcome) -> tuple[str, ...]:
    run, law = outcome.run, outcome.predictions[0] if outcome.predictions else None
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
        f"{outcome.last.kl[outcome.nearest]:.4f}" if outcome.nearest else "",
        outcome.verdict,
    )
