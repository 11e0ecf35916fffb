"""Stored results of a run and of its expected-gradient run, and the cause of a missed prediction."""

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
    """Exact measures of a stationary policy, computed before the run; the run's own precedes its rivals."""

    name: str
    exact: ExactMeasures


@dataclass(frozen=True)
class RunPoint:
    """The policy after so many steps: its measures, and KL(run || policy) of each prediction by name."""

    step: int
    exact: ExactMeasures
    kl: Mapping[str, float]


@dataclass(frozen=True)
class FinishedRun(Outcome):
    """A finished run with its predictions."""

    run: LlamaRun
    predictions: tuple[PredictedPolicy, ...]
    course: tuple[RunPoint, ...]
    limits: Mapping[str, float]
    """KL(limit || run), by name, for the limits of each form as beta -> 0 and for a run's targets."""

    @property
    def prediction(self) -> PredictedPolicy | None:
        """Stationary policy (or target) predicted for the run; None if theory predicts none."""
        return self.predictions[0] if self.predictions else None

    @property
    def distances(self) -> Mapping[str, float]:
        """KL(run || policy) of each predicted policy; for a target (`LlamaRun.target`), KL(target || run)."""
        distances = {**self.limits, **self.last.kl}
        return {policy.name: distances[policy.name] for policy in self.predictions}

    @property
    def own(self) -> str | None:
        """Name of the policy predicted for the run; None without a prediction."""
        return self.prediction.name if self.prediction else None

    @property
    def gap(self) -> float | None:
        """Mean over rows of |V - predicted V|; None without a prediction."""
        if self.prediction is None:
            return None
        return mean_gap(self.last.exact.pass_rate, self.prediction.exact.pass_rate)


CLOSED_FORMS = ("none", *DESCENDING)
"""Forms whose expected update is a known closed-form function of the policy."""
RIVALS = FROZEN, TABULAR = "frozen_kernel", "tabular_formula"
"""Models of sampling noise beside the adjoint: the model's initial kernel throughout, at every N; and one
logit per answer, at the effective logit step that this kernel gives two correct answers (SGD only). Entries:
`sampling_noise`.
"""


@dataclass(frozen=True)
class SampledEnd:
    """End of the same training on sampled answers, without a trainer: noise to all orders."""

    gap: float  # As in a `FinishedRun`; 0 without a prediction, as the next.
    kl_to_prediction: float


@dataclass(frozen=True)
class ExpectedGradientRun:
    """End of the expected-gradient run, and the predicted distance of seeds from it.

    `kl`: its KL to each predicted policy. `deviations`: stds over seeds, to first order in the noise and
    empty for long trainings, of the pass rate and of the log odds of the base's favourite among valid
    answers.
    """

    run: LlamaRun
    exact: ExactMeasures
    kl: Mapping[str, float]
    deviations: Mapping[str, float]
    predicted_pass_rate: tuple[float, ...] | None = None  # By row, at the run's own stationary policy.
    rivals: Mapping[str, float] = field(default_factory=dict)
    """Deviation of the favourite's log odds by cruder models, for runs without a penalty (`RIVALS`)."""
    sampled: tuple[SampledEnd, ...] = ()  # One per seed; empty if the first order explains every run.

    @property
    def gap(self) -> float:
        """Mean over rows of |V - predicted V|; 0 without a prediction."""
        return mean_gap(self.exact.pass_rate, self.predicted_pass_rate or self.exact.pass_rate)


def expected_gradient_of(run: LlamaRun) -> LlamaRun | None:
    """Run that represents all runs with the expected gradient of `run`; None if there is none here.

    Excluded are other forms, another sampler, and std-normalised penalised rewards, whose update depends on
    more than the policy. Entries: `sampling_noise`.
    """
    divided = run.form == "sequence_kl" and run.scale == "group"
    if run.form not in CLOSED_FORMS or run.sampler is not None or divided:
        return None
    seed = run.seed if run.rank is not None else 0
    return replace(run, experiment="expected_gradient", seed=seed, every=0)


def expected_gradient_in(
    stored: Mapping[str, ExpectedGradientRun], run: LlamaRun
) -> ExpectedGradientRun | None:
    """Expected-gradient run that stands for `run` among the stored ones (by id), or None."""
    stands_for = expected_gradient_of(run)
    return None if stands_for is None else stored.get(stands_for.id)


DEVIATIONS = 3
"""Noise alone does not explain a run this many predicted stds from its expected-gradient run."""
TIME, NOISE, BEYOND_FIRST_ORDER = "time", "noise", "noise beyond first order"
UNEXPLAINED, NO_EXPECTED_GRADIENT = "unexplained", "no expected-gradient run"
CAUSES = {
    TIME: "too few steps",
    NOISE: "sampling noise",
    BEYOND_FIRST_ORDER: BEYOND_FIRST_ORDER,
    UNEXPLAINED: UNEXPLAINED,
    NO_EXPECTED_GRADIENT: "without an expected-gradient run",
}  # Causes of a miss, in words.


def why_missed(outcome: FinishedRun, expected: ExpectedGradientRun | None) -> str | None:
    """Cause of a missed prediction; None for a run that matches, or has no prediction.

    TIME: the expected-gradient run misses too, by the same tolerances. NOISE: it does not, and the run lies
    within `DEVIATIONS` of it. BEYOND_FIRST_ORDER: the run lies further off, or the std is unknown, and some
    of the same trainings on samples end as far off. UNEXPLAINED: none of them does, or none was sampled.
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
    """Distance of the run from its expected-gradient run in predicted stds, by measure."""
    moved = {"pass_rate": fmean(outcome.last.exact.pass_rate) - fmean(expected.exact.pass_rate)}
    if expected.exact.favourite_share < 1 - 1e-9:  # Otherwise a row has one correct answer, and no odds.
        moved["favourite_odds"] = _odds(outcome.last.exact) - _odds(expected.exact)
    return {
        name: gap / expected.deviations[name] for name, gap in moved.items() if expected.deviations.get(name)
    }


def _odds(exact: ExactMeasures) -> float:
    share = min(max(exact.favourite_share, 1e-15), 1 - 1e-15)
    return math.log(share / (1 - share))
