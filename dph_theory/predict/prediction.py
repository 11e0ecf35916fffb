"""The pass rate that each prompt's training converges to, by the settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..losses.objective import UNDIVIDED, Objective
from ..numeric.arrays import Scalars, probability
from ..support.display import Shown
from ..support.errors import argument_error
from ..support.record import readable
from ..support.table import Table
from .configuration import Configuration


@dataclass(frozen=True)
class PromptPrediction:
    """One prompt: its base rate, the pass rate reached from there, and the other stable pass rates."""

    __repr__ = readable

    id: str
    base_rate: float
    pass_rate: float
    also_stable: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """Predicted pass rate of each prompt, and the mean pass rate before and after training."""

    configuration: Configuration
    prompts: tuple[PromptPrediction, ...]
    mean_base_rate: float
    mean_pass_rate: float

    def summary(self) -> str:
        """Text on the settings, the KL they converge to, and the mean pass rate before and after training."""
        run = self.configuration
        return (
            f"{run.trainer} {run.version}, {run.penalty}, groups of {run.objective.group_size}: "
            f"{run.stationary_kl}.\n"
            f"The mean pass rate over {len(self.prompts)} prompts goes from {self.mean_base_rate:.3f} to "
            f"{self.mean_pass_rate:.3f}."
        )

    def tables(self) -> list[Table]:
        """Table with a row per prompt: base rate, predicted pass rate, other stable pass rates."""
        rows = [
            (
                one.id[:24],
                one.base_rate,
                one.pass_rate,
                ", ".join(f"{r:.4g}" for r in one.also_stable) or None,
            )
            for one in self.prompts
        ]
        return [Table.from_rows(("prompt", "base rate", "predicted", "also stable"), rows)]


def predict(
    configuration: Configuration,
    base_rates: Scalars | Mapping[str, float],
    *,
    false_positive: float = 0.0,
    false_negative: float = 0.0,
) -> Prediction:
    """The pass rates that prompts with one-token answers converge to.

    A prompt's pass rate mu is that of the filtered model's path at beta/alpha_G(mu), where alpha_G is the
    weight that the advantage gives it; without a KL mu tends to 1. It is also 1 where a clamped KL lets an
    incorrect answer go. The 1e-4 that trainers add to a std is left out. Answers of many tokens under a
    token penalty end lower (`stationary.token_policy`).

    Args:
        configuration: The run's settings, by `configuration_of`.
        base_rates: The base's pass rates in [0, 1], a list or by prompt.
        false_positive: Share of incorrect answers that the verifier accepts.
        false_negative: Share of correct answers that it refuses. Errors act as a larger beta
            (`stationary.effective_beta`); not defined where they move the advantage's divisor.

    Returns:
        A Prediction: each prompt's pass rate, and the mean.

    Raises:
        ValueError: For no base rates, settings without a known stationary policy, a missing group size, or
            an erring verifier whose advantage is divided by a statistic of the rewards.

    Source: ours; entries `sequence_penalties`, `token_penalties`, `group_advantages`.

    >>> from dph_theory.predict import configuration_of
    >>> round(predict(configuration_of({"beta": 0.5}, "trl"), [0.25]).mean_pass_rate, 4)
    0.9755
    """
    from ..stationary import effective_beta

    objective = configuration.objective
    by_prompt = base_rates if isinstance(base_rates, Mapping) else {}
    given = [*by_prompt.values()] if by_prompt else base_rates
    rates = np.atleast_1d(probability("base_rates", given)).ravel()
    if not rates.size:
        raise argument_error("base_rates", base_rates, "at least one base rate")
    if objective.unpredicted:
        raise ValueError(f"no pass rates: {objective.unpredicted}")
    if (false_positive or false_negative) and objective.advantage.scale not in UNDIVIDED:
        allowed = f"one of {', '.join(UNDIVIDED)}, with a verifier that errs"
        raise argument_error("scale", objective.advantage.scale, allowed)
    # Without a KL too, for the errors that it does not allow.
    beta = float(effective_beta(objective.coefficient or 1.0, false_positive, false_negative))
    ends = {rate: _ends(objective, rate, beta) for rate in np.unique(rates).tolist()}
    names = list(by_prompt) or [f"prompt {i + 1}" for i in range(rates.size)]
    prompts = tuple(
        PromptPrediction(name, rate, ends[rate][0], tuple(ends[rate][1:]))
        for name, rate in zip(names, rates.tolist(), strict=True)
    )
    mean = float(np.mean([prompt.pass_rate for prompt in prompts]))
    return Prediction(configuration, prompts, float(rates.mean()), mean)


def _ends(objective: Objective, rate: float, beta: float) -> list[float]:
    """Stable pass rates of a prompt with base rate `rate`; first the one that is reached from the base."""
    from ..stationary import normalised_validities

    if rate in (0.0, 1.0):
        return [rate]
    if not objective.coefficient:
        return [1.0]
    mixed_only = objective.mixed_only and objective.of_tokens
    arguments = {**objective.stationary_arguments, "beta": beta}
    # Below the clamp's end no penalty acts on the incorrect answers.
    clamped = np.exp(-np.inf if objective.term is None else objective.term.released_below)
    roots = normalised_validities(rate, **arguments, mixed_only=mixed_only)
    stable = [root.pass_rate for root in roots if root.stable]
    return [*dict.fromkeys(1.0 if (1 - end) / (1 - rate) < clamped else end for end in stable)]
