"""What is kept of a run and of its expected-gradient run (`twin`), and why the run missed its prediction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from dph_theory.trainers.kl_terms import DESCENDING

from ..enumerable_tasks.exact import Exact
from ..record import Finished, bars_of, mean_gap, misses
from .runs import Run


@dataclass(frozen=True)
class PredictedLaw:
    """A stationary policy's exact measures, computed before the run; its own stands before its rivals."""

    law: str
    exact: Exact


@dataclass(frozen=True)
class RunPoint:
    """The policy after so many steps: its measures, and KL(run || law) of each policy predicted, by name."""

    step: int
    exact: Exact
    kl: Mapping[str, float]


@dataclass(frozen=True)
class FinishedRun(Finished):
    """A finished run with what was predicted of it."""

    run: Run
    predictions: tuple[PredictedLaw, ...]
    course: tuple[RunPoint, ...]
    limits: Mapping[str, float]
    """KL(limit || run) of what each form selects as beta -> 0, and of a run's targets, by name."""
    seconds: float

    @property
    def law(self) -> PredictedLaw | None:
        """What theory says of the run's end; None where it says nothing."""
        return self.predictions[0] if self.predictions else None

    @property
    def distances(self) -> Mapping[str, float]:
        """KL(run || law) of each policy predicted; of a target (`Run.target`), KL(target || run)."""
        known = {**self.limits, **self.last.kl}
        return {prediction.law: known[prediction.law] for prediction in self.predictions}

    @property
    def own(self) -> str | None:
        """The name of its stationary policy."""
        return self.law.law if self.law else None

    @property
    def gap(self) -> float | None:
        """The mean over rows of |V - predicted V|."""
        return mean_gap(self.last.exact.validity, self.law.exact.validity) if self.law else None


TWINNED = ("none", *DESCENDING)
"""The forms whose expected update is a function of the policy that is known in closed form."""
RIVALS = FROZEN, TABULAR = "frozen_kernel", "tabular_formula"
"""Accounts of sampling noise beside the adjoint: the kernel of the model at its start for ever, at
every N; and one logit an answer, at the effective logit step that this kernel gives two correct answers (SGD
alone). Theory: G3."""


@dataclass(frozen=True)
class SampledEnd:
    """Where the same training on sampled answers ends, without a trainer: the noise, not its first order."""

    gap: float
    """As of a `FinishedRun`; 0 where nothing is predicted, as the next."""
    kl_to_law: float
    entropy: float


@dataclass(frozen=True)
class Twin:
    """Where the expected-gradient run ends, and how far seeds are to lie from it.

    `kl`: its KL to each policy predicted. `deviations` over seeds, of first order in the noise, none
    for long trainings: of the pass rate and of the log odds of the base's favourite among valid answers.
    """

    run: Run
    exact: Exact
    kl: Mapping[str, float]
    deviations: Mapping[str, float]
    law_validity: tuple[float, ...] | None = None
    """Of each row at the run's own stationary policy."""
    rivals: Mapping[str, float] = field(default_factory=dict)
    """The deviation of the favourite's log odds by cruder accounts, of runs without a penalty (`RIVALS`)."""
    sampled: tuple[SampledEnd, ...] = ()
    """Of as many seeds; none where the first order explains every run."""

    @property
    def gap(self) -> float:
        """As of a `FinishedRun`; 0 where nothing is predicted."""
        return mean_gap(self.exact.validity, self.law_validity or self.exact.validity)


def twin_of(run: Run) -> Run | None:
    """The run that stands for all that share its expected gradient; None for those that have none here.

    They have other forms, several rounds or updates a batch, no reward, a beta that samples decide, or
    std-normalised penalised rewards, whose update is no function of the policy alone. Theory: G2.
    """
    once = run.rounds == run.updates == 1 and run.sampler is None and run.excess_bound is None
    divided = run.form == "sequence_kl" and run.scale == "group"
    if run.form not in TWINNED or not run.reward or not once or divided:
        return None
    seed = run.seed if run.rank is not None or run.collapsed else 0
    return replace(run, experiment="twin", seed=seed, every=0)


def twin_in(twins: Mapping[str, Twin], run: Run) -> Twin | None:
    """The expected-gradient run among those of a journal, if it is there."""
    stands_for = twin_of(run)
    return None if stands_for is None else twins.get(stands_for.id)


DEVIATIONS = 3
"""A run this many predicted std from its expected-gradient run is not where noise alone puts it."""
TIME, LUCK, LOST, UNEXPLAINED, NO_TWIN = ("time", "luck", "luck beyond first order", "unexplained", "no twin")


def why_missed(outcome: FinishedRun, twin: Twin | None) -> str | None:
    """What a miss comes from; None for a run that matches, or has no prediction.

    `"time"`: the expected-gradient run misses too, by the same bars. `"luck"`: it does not, and the
    run lies within `DEVIATIONS` of it. `"luck beyond first order"`: the run lies further off, or no std was
    carried so far, and of the same training on samples some ends as far off. "unexplained": none does, or
    none was sampled. `"no twin"`: none was trained.
    """
    if outcome.law is None or not outcome.misses:
        return None
    if twin is None:
        return NO_TWIN
    law, bars = outcome.law, bars_of(outcome.run.task)
    if misses(law.law, twin.kl, mean_gap(twin.exact.validity, law.exact.validity), bars):
        return TIME
    departures = luck(outcome, twin)
    if departures and all(abs(value) <= DEVIATIONS for value in departures.values()):
        return LUCK
    ends = [(bars.validity, bars.kl), *((end.gap, end.kl_to_law) for end in twin.sampled)]
    gap, kl = (max(column) for column in zip(*ends, strict=True))
    return LOST if (outcome.gap or 0.0) <= gap and (outcome.kl_to_law or 0.0) <= kl else UNEXPLAINED


def luck(outcome: FinishedRun, twin: Twin) -> dict[str, float]:
    """How far the run is from its expected-gradient run, in predicted std, by measure."""
    moved = {"validity": fmean(outcome.last.exact.validity) - fmean(twin.exact.validity)}
    if twin.exact.favourite_share < 1 - 1e-9:  # Else a row has one right answer, and there are no odds.
        moved["favourite_odds"] = _odds(outcome.last.exact) - _odds(twin.exact)
    return {name: gap / twin.deviations[name] for name, gap in moved.items() if twin.deviations.get(name)}


def _odds(exact: Exact) -> float:
    """The log odds of the base's favourite among valid answers."""
    share = min(max(exact.favourite_share, 1e-15), 1 - 1e-15)
    return math.log(share / (1 - share))
