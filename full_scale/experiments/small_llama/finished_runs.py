"""What is stored of a run and of its expected-gradient run, and why the run missed its prediction."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

from dph_theory.losses.kl_terms import DESCENDING

from ..enumerable_tasks.exact import ExactMeasures
from ..outcome import Outcome, bars_of, mean_gap, misses
from .runs import LlamaRun


@dataclass(frozen=True)
class PredictedPolicy:
    """A stationary policy's exact measures, computed before the run; its own stands before its rivals."""

    name: str
    exact: ExactMeasures


@dataclass(frozen=True)
class RunPoint:
    """The policy after so many steps: its measures, and KL(run || policy) of each predicted one, by name."""

    step: int
    exact: ExactMeasures
    kl: Mapping[str, float]


@dataclass(frozen=True)
class FinishedRun(Outcome):
    """A finished run with what was predicted of it."""

    run: LlamaRun
    predictions: tuple[PredictedPolicy, ...]
    course: tuple[RunPoint, ...]
    limits: Mapping[str, float]
    """KL(limit || run) of what each form selects as beta -> 0, and of a run's targets, by name."""

    @property
    def prediction(self) -> PredictedPolicy | None:
        """What theory says of the run's end; None where it says nothing."""
        return self.predictions[0] if self.predictions else None

    @property
    def distances(self) -> Mapping[str, float]:
        """KL(run || policy) of each policy predicted; of a target (`LlamaRun.target`), KL(target || run)."""
        distances = {**self.limits, **self.last.kl}
        return {policy.name: distances[policy.name] for policy in self.predictions}

    @property
    def own(self) -> str | None:
        """The name of its stationary policy."""
        return self.prediction.name if self.prediction else None

    @property
    def gap(self) -> float | None:
        """The mean over rows of |V - predicted V|."""
        if self.prediction is None:
            return None
        return mean_gap(self.last.exact.pass_rate, self.prediction.exact.pass_rate)


CLOSED_FORMS = ("none", *DESCENDING)
"""The forms whose expected update is a function of the policy that is known in closed form."""
RIVALS = FROZEN, TABULAR = "frozen_kernel", "tabular_formula"
"""Accounts of sampling noise beside the adjoint: the kernel of the model at its start for ever, at
every N; and one logit an answer, at the effective logit step that this kernel gives two correct answers (SGD
alone). Entries: `sampling_noise`."""


@dataclass(frozen=True)
class SampledEnd:
    """Where the same training on sampled answers ends, without a trainer: the noise, not its first order."""

    gap: float
    """As of a `FinishedRun`; 0 where nothing is predicted, as the next."""
    kl_to_prediction: float


@dataclass(frozen=True)
class ExpectedGradientRun:
    """Where the expected-gradient run ends, and how far seeds are to lie from it.

    `kl`: its KL to each policy predicted. `deviations` over seeds, of first order in the noise, none
    for long trainings: of the pass rate and of the log odds of the base's favourite among valid answers.
    """

    run: LlamaRun
    exact: ExactMeasures
    kl: Mapping[str, float]
    deviations: Mapping[str, float]
    predicted_pass_rate: tuple[float, ...] | None = None
    """Of each row at the run's own stationary policy."""
    rivals: Mapping[str, float] = field(default_factory=dict)
    """The deviation of the favourite's log odds by cruder accounts, of runs without a penalty (`RIVALS`)."""
    sampled: tuple[SampledEnd, ...] = ()
    """Of as many seeds; none where the first order explains every run."""

    @property
    def gap(self) -> float:
        """As of a `FinishedRun`; 0 where nothing is predicted."""
        return mean_gap(self.exact.pass_rate, self.predicted_pass_rate or self.exact.pass_rate)


def expected_gradient_of(run: LlamaRun) -> LlamaRun | None:
    """The run that stands for all that share its expected gradient; None for those that have none here.

    They have other forms, another sampler, or std-normalised penalised rewards, whose update depends on more
    than the policy. Entries: `sampling_noise`.
    """
    divided = run.form == "sequence_kl" and run.scale == "group"
    if run.form not in CLOSED_FORMS or run.sampler is not None or divided:
        return None
    seed = run.seed if run.rank is not None or run.collapsed else 0
    return replace(run, experiment="expected_gradient", seed=seed, every=0)


def expected_gradient_in(
    stored: Mapping[str, ExpectedGradientRun], run: LlamaRun
) -> ExpectedGradientRun | None:
    """The run's expected-gradient run among those that are stored, if it is there."""
    stands_for = expected_gradient_of(run)
    return None if stands_for is None else stored.get(stands_for.id)


DEVIATIONS = 3
"""A run this many predicted std from its expected-gradient run is not where noise alone puts it."""
TIME, NOISE, BEYOND_FIRST_ORDER = "time", "noise", "noise beyond first order"
UNEXPLAINED, NO_EXPECTED_GRADIENT = "unexplained", "no expected-gradient run"
CAUSES = {
    TIME: "too few steps",
    NOISE: "sampling noise",
    BEYOND_FIRST_ORDER: BEYOND_FIRST_ORDER,
    UNEXPLAINED: UNEXPLAINED,
    NO_EXPECTED_GRADIENT: "without an expected-gradient run",
}
"""What a miss comes from, in words."""


def why_missed(outcome: FinishedRun, expected: ExpectedGradientRun | None) -> str | None:
    """What a miss comes from; None for a run that matches, or has no prediction.

    TIME: the expected-gradient run misses too, by the same bars. NOISE: it does not, and the run lies within
    `DEVIATIONS` of it. BEYOND_FIRST_ORDER: the run lies further off, or no std was carried so far, and of the
    same training on samples some ends as far off. UNEXPLAINED: none does, or none was sampled.
    NO_EXPECTED_GRADIENT: none was trained.
    """
    prediction = outcome.prediction
    if prediction is None or not outcome.misses:
        return None
    if expected is None:
        return NO_EXPECTED_GRADIENT
    bars, gap = bars_of(outcome.run.task), mean_gap(expected.exact.pass_rate, prediction.exact.pass_rate)
    if misses(prediction.name, expected.kl, gap, bars):
        return TIME
    departures = standardised_departures(outcome, expected)
    if departures and all(abs(departure) <= DEVIATIONS for departure in departures.values()):
        return NOISE
    ends = [(bars.pass_rate, bars.kl), *((end.gap, end.kl_to_prediction) for end in expected.sampled)]
    most_gap, most_kl = (max(column) for column in zip(*ends, strict=True))
    is_within = (outcome.gap or 0.0) <= most_gap and (outcome.kl_to_prediction or 0.0) <= most_kl
    return BEYOND_FIRST_ORDER if is_within else UNEXPLAINED


def standardised_departures(outcome: FinishedRun, expected: ExpectedGradientRun) -> dict[str, float]:
    """How far the run is from its expected-gradient run, in predicted std, by measure."""
    moved = {"pass_rate": fmean(outcome.last.exact.pass_rate) - fmean(expected.exact.pass_rate)}
    if expected.exact.favourite_share < 1 - 1e-9:  # Else a row has one right answer, and there are no odds.
        moved["favourite_odds"] = _odds(outcome.last.exact) - _odds(expected.exact)
    return {
        name: gap / expected.deviations[name] for name, gap in moved.items() if expected.deviations.get(name)
    }


def _odds(exact: ExactMeasures) -> float:
    """The log odds of the base's favourite among valid answers."""
    share = min(max(exact.favourite_share, 1e-15), 1 - 1e-15)
    return math.log(share / (1 - share))
