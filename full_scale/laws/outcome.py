"""What is kept of a run: its predictions, what was measured, and whether it held to its law."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..evaluation.exact import Exact
from .run import Run


@dataclass(frozen=True)
class Bars:
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


BARS, SELECTION_BARS = Bars(0.02, 0.02), Bars(0.01, 0.01)


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
    """KL(limit || run) of what each form selects as beta -> 0, and of a run's targets, by name."""
    seconds: float

    @property
    def last(self) -> Point:
        """The end of the run."""
        return self.course[-1]

    @property
    def law(self) -> Prediction | None:
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
    def bars(self) -> Bars:
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
