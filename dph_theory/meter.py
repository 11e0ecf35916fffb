"""The collapse meter: the excess KL of a policy from samples, what it certifies, its warnings in training."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from .binary_reward import kappa
from .numeric.arrays import (
    Array,
    Scalars,
    booleans,
    integers,
    open_rate,
    probability,
    real,
    require_common_shape,
    scalar,
)
from .numeric.elementary import Values
from .support.errors import argument_error


@dataclass(frozen=True)
class LeadTime:
    """When the meter warned, when coverage fell, and the steps between; None for what never happened."""

    meter_step: int | None = None
    coverage_step: int | None = None

    @property
    def lead(self) -> int | None:
        """Steps from the warning to the fall, negative if it came late; None without both."""
        if self.meter_step is None or self.coverage_step is None:
            return None
        return self.coverage_step - self.meter_step


@dataclass(frozen=True)
class Warnings:
    """The meter as a warning over several trainings, at one threshold: a rise of `rise` nats."""

    rise: float
    leads: tuple[LeadTime, ...]

    @property
    def fallen(self) -> list[LeadTime]:
        """Leads of the trainings whose coverage fell."""
        return [lead for lead in self.leads if lead.coverage_step is not None]

    @property
    def steps_ahead(self) -> list[int]:
        """Leads in steps, one per training with both a warning and a fall."""
        return [lead.lead for lead in self.leads if lead.lead is not None]

    @property
    def warned_before(self) -> int:
        """Number of trainings with a fall that the meter announced before it."""
        return sum(steps > 0 for steps in self.steps_ahead)

    @property
    def false_alarms(self) -> int:
        """Number of trainings with a warning but without a fall."""
        return sum(lead.meter_step is not None and lead.coverage_step is None for lead in self.leads)


def lead_time(steps: Array, excess: Array, coverage: Array, *, rise: float, fall: float) -> LeadTime:
    """The first steps with excess KL >= its first value + rise, and with pass@k <= its peak so far - fall.

    steps: whole numbers, increasing; excess KL in nats (inf allowed) and coverage (pass@k in [0, 1]) at those
    steps; all of shape (steps,). rise > 0 in nats, fall in (0, 1).
    Raises ValueError for other shapes or values. Source: ours, entries `frontier`.
    """
    steps, excess = integers("steps", steps, at_least=0), real("excess", excess, at_least=0)
    coverage = real("coverage", coverage, at_least=0, at_most=1)
    if steps.ndim != 1 or len(steps) == 0:
        raise argument_error("steps.shape", steps.shape, "one axis with at least one step")
    for name, array in (("excess", excess), ("coverage", coverage)):
        if array.shape != steps.shape:
            raise argument_error(f"{name}.shape", array.shape, f"{steps.shape}, one value a step")
    if (np.diff(steps) <= 0).any():
        raise argument_error("steps", steps, "increasing steps only")
    rise, fall = scalar("rise", real("rise", rise, above=0)), scalar("fall", open_rate("fall", fall))
    warned = excess >= excess[0] + rise
    fallen = coverage <= np.maximum.accumulate(coverage) - fall
    return LeadTime(_first(steps, warned), _first(steps, fallen))


def _first(steps: np.ndarray, happened: Bool[np.ndarray, " steps"]) -> int | None:
    return int(steps[np.argmax(happened)]) if happened.any() else None


def certified_share(excess: Scalars, pass_rate: Scalars) -> Values:
    """Share of the correct answers from which on an excess KL proves that no strategy is lost.

    A strategy is a set of correct answers; its share is that in the filtered model. To lose one of share s at
    pass rate V takes an excess KL of at least -V log(1 - s), so one of a share above 1 - exp(-excess/V) is
    still there.

    Args:
        excess: Excess KL of a prompt in nats, at least 0; inf is allowed.
        pass_rate: The policy's pass rate V on the prompt, in [0, 1]; shapes broadcast. At V = 0 nothing is
            certified.

    Returns:
        The least certified share, in [0, 1]; 1 certifies nothing.

    Raises:
        ValueError: If an excess is negative, a rate is not in [0, 1], or shapes do not fit.

    Example:
        >>> certified_share([0.01, 0.1], 0.6).round(4)
        array([0.0165, 0.1535])

    Source: ours, entries `losing_a_strategy`.
    """
    excess, rate = real("excess", excess, at_least=0), probability("pass_rate", pass_rate)
    require_common_shape(excess=excess, pass_rate=rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, -np.expm1(-excess / rate), 1.0)


class ExcessKLEstimate(NamedTuple):
    """The excess KL of each prompt, (prompts,), and its mean, each with its standard error, in nats.

    `pass_rates` are the policy's, of the same samples.
    """

    excess: np.ndarray
    standard_error: np.ndarray
    mean: float
    mean_standard_error: float
    pass_rates: np.ndarray

    @property
    def certified(self) -> float:
        """Share from which on the excess KL proves strategies retained, at the median solved prompt.

        Two standard errors are added to each estimate, and none is taken to be below zero. The value 1, also
        if no prompt is solved, certifies nothing.
        """
        solved = self.pass_rates > 0
        above = np.maximum(self.excess + 2 * self.standard_error, 0.0)[solved]
        return float(np.median(certified_share(above, self.pass_rates[solved]))) if solved.any() else 1.0

    @property
    def certificate(self) -> str:
        """Sentence about the strategies that the excess KL proves retained."""
        number = int((self.pass_rates > 0).sum())
        if not number:
            return "No prompt is solved: the excess KL proves nothing of strategies."
        return (
            f"On half of the {number} solved prompts no strategy of share {self.certified:.2g} is lost"
            " (excess KL < -V log(1-s), two standard errors allowed)."
        )


def excess_kl_estimate(
    rewards: Array, log_pi: Array, log_ref: Array, base_rates: Array, *, rate_samples: int | None = None
) -> ExcessKLEstimate:
    """KL(pi || ref) - kl(V || A1) of each prompt, from samples of the policy: the excess KL.

    The plug-in estimate T = mean(log_pi - log_ref) - kl(mean(rewards) || base_rate) is too low by about
    1/(2 samples), because kl is convex in the mean reward. The jackknife n T - (n-1) mean_i T_(-i) removes
    that order; it may be slightly negative where the excess is near 0. Where all rewards are equal the data
    show no such bias and T stands. The standard errors are the jackknife's, somewhat large for few samples;
    that of the mean takes the prompts as given and independent.

    Args:
        rewards: 0 or 1, shape (prompts, samples), at least two samples.
        log_pi: Log-probabilities of the answers under the policy, same shape.
        log_ref: Log-probabilities under the reference, same shape.
        base_rates: Pass rates of the base in (0, 1), shape (prompts,).
        rate_samples: Number n of samples behind each base rate, the posterior mean (c + 1/2)/(n + 1), or None
            if the rates are known. The cost kl is convex in the rate and hence too high by about 1/(2n): the
            posterior variance rate (1 - rate)/(n + 2) corrects it to second order and adds to the errors.

    Raises:
        ValueError: If shapes do not fit, rewards are not 0 or 1, or a rate is not in (0, 1).

    Source: ours, entries `frontier`.
    """
    correct = booleans("rewards", rewards).astype(float)
    given = {"log_pi": log_pi, "log_ref": log_ref}
    pi, ref = (real(name, value, above=-1e15, below=1e15) for name, value in given.items())
    rates = open_rate("base_rates", base_rates)
    if correct.ndim != 2 or correct.shape[1] < 2 or not len(correct):
        raise argument_error("rewards.shape", correct.shape, "at least one prompt and two samples")
    if not pi.shape == ref.shape == correct.shape or rates.shape != correct.shape[:1]:
        shapes = f"rewards {correct.shape}, log_pi {pi.shape}, log_ref {ref.shape}, base_rates {rates.shape}"
        raise ValueError(f"shapes do not fit: {shapes}")
    n, pass_rates, log_ratio = correct.shape[1], correct.mean(axis=1), pi - ref

    def without_each(values: np.ndarray) -> np.ndarray:
        return (values.sum(axis=1, keepdims=True) - values) / (n - 1)

    plug_in = log_ratio.mean(axis=1) - kappa(pass_rates, rates)
    parts = without_each(log_ratio) - kappa(without_each(correct), rates[:, None])
    excess = n * plug_in - (n - 1) * parts.mean(axis=1)
    variance = parts.var(axis=1) * (n - 1)
    if rate_samples is not None:
        if rate_samples < 1:
            raise argument_error("rate_samples", rate_samples, "a whole number, at least 1")
        of_rate = rates * (1 - rates) / (rate_samples + 2)
        excess = excess + of_rate / 2 * (pass_rates / rates**2 + (1 - pass_rates) / (1 - rates) ** 2)
        variance = variance + of_rate * ((rates - pass_rates) / (rates * (1 - rates))) ** 2
    mean_error = float(np.sqrt(variance.sum())) / len(rates)
    return ExcessKLEstimate(excess, np.sqrt(variance), float(excess.mean()), mean_error, pass_rates)
