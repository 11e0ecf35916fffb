"""What settings do to each prompt and on the mean, at the end of a run and on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..losses.objective import UNDIVIDED
from ..numeric.arrays import Scalars, probability
from ..support.display import Shown
from ..support.errors import argument_error
from ..support.record import readable
from ..support.table import Table
from .configuration import Configuration

MOST_OF_THE_WAY = 0.99
"""The share of the way from the base to the end after which a prompt counts as there."""
_TIMES = np.concatenate([[0.0], np.geomspace(1e-2, 9e5, 161)])
"""Steps times their size in logits, at which it is looked whether a prompt is there."""


@dataclass(frozen=True)
class PromptPrediction:
    """One prompt: its base rate, `pass_rate` (the pass rate reached from the base), and other stable ones.

    `on_the_way`: after the steps asked for; None where none were. `time`: steps times the effective
    logit step after which it is `MOST_OF_THE_WAY` there; None where it stays, or is not within a million.
    """

    __repr__ = readable

    id: str
    base_rate: float
    pass_rate: float
    other_validities: tuple[float, ...]
    on_the_way: float | None
    time: float | None


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """What settings do: to each prompt and on the mean."""

    configuration: Configuration
    prompts: tuple[PromptPrediction, ...]
    mean_base_rate: float
    mean_pass_rate: float

    def summary(self) -> str:
        """The settings, what they converge to, and the mean pass rate."""
        run = self.configuration
        return (
            f"{run.trainer} {run.version}, {run.penalty}, groups of {run.objective.group_size}: "
            f"{run.stationary_kl}.\n"
            f"The mean pass rate over {len(self.prompts)} prompts goes from {self.mean_base_rate:.3f} to "
            f"{self.mean_pass_rate:.3f}."
        )

    def tables(self) -> list[Table]:
        """Each prompt's pass rates."""
        rows = []
        for prompt in self.prompts:
            also_stable = ", ".join(f"{pass_rate:.4g}" for pass_rate in prompt.other_validities)
            rows.append(
                (prompt.id[:24], prompt.base_rate, prompt.on_the_way, prompt.pass_rate, also_stable or None)
            )
        return [Table.from_rows(("prompt", "base rate", "after the steps", "predicted", "also stable"), rows)]


def predict(
    configuration: Configuration,
    base_rates: Scalars | Mapping[str, float],
    *,
    false_positive: float = 0.0,
    false_negative: float = 0.0,
    step: float | None = None,
    steps: float | None = None,
    right: int = 2,
    wrong: int = 8,
) -> Prediction:
    """The pass rates that prompts with one-token answers converge to.

    Parameters: `configuration`, as `configuration_of` gives it; `base_rates`, the base's pass rates in
    [0, 1], or these by prompt. A prompt's pass rate mu is that of beta/alpha_G(mu); without a KL it tends to
    1. Where that leaves an incorrect answer less than the form's clamp holds, no penalty acts on it, and the
    pass rate is 1. The 1e-4 or less that trainers add to a std is left out. Answers of many tokens under a
    token penalty converge to less than this (`stationary.token_policy` has them exactly). A verifier that
    errs, whatever the answer, makes beta act as `stationary.effective_beta`; only where advantages are not
    divided by what its errors move ("none", "leave_one_out"). `step`, an effective logit step, and `steps`:
    after how many the pass rates are given too, of `right` correct and `wrong` incorrect equally likely
    answers, without noise. Returns a Prediction. Raises ValueError for what these do not allow, for settings
    whose stationary policy is not known, for no base rates, and where the group size is needed and not given.
    Source: ours, entries `sequence_penalties`, `token_penalties`, `group_advantages`.

    >>> from dph_theory.predict import configuration_of
    >>> round(predict(configuration_of({"beta": 0.5}, "trl"), [0.25]).mean_pass_rate, 4)
    0.9755
    """
    from ..stationary import effective_beta

    by_prompt = base_rates if isinstance(base_rates, Mapping) else {}
    given = [*by_prompt.values()] if by_prompt else base_rates
    rates = np.atleast_1d(probability("base_rates", given)).ravel()
    if not rates.size:
        raise argument_error("base_rates", base_rates, "at least one base rate")
    if configuration.objective.unpredicted:
        raise ValueError(f"no pass rates: {configuration.objective.unpredicted}")
    if (false_positive or false_negative) and configuration.objective.advantage.scale not in UNDIVIDED:
        allowed = f"one of {', '.join(UNDIVIDED)}, with a verifier that errs"
        raise argument_error("scale", configuration.objective.advantage.scale, allowed)
    # Without a KL too, for the errors that it does not allow.
    beta = float(effective_beta(configuration.objective.coefficient or 1.0, false_positive, false_negative))
    penalised = configuration.objective.coefficient > 0
    objective = {**configuration.objective.stationary_arguments, "beta": beta if penalised else 0.0}
    speed, decision = 1 - false_positive - false_negative, {"valid": right, "invalid": wrong}
    flow = _PromptFlow(configuration, objective, decision, speed, step=step, steps=steps)
    by_rate = {rate: flow.prompt(rate) for rate in np.unique(rates).tolist()}
    names = list(by_prompt) or [f"prompt {i + 1}" for i in range(rates.size)]
    prompts = tuple(replace(by_rate[rate], id=name) for name, rate in zip(names, rates.tolist(), strict=True))
    mean = float(np.mean([prompt.pass_rate for prompt in prompts]))
    return Prediction(configuration, prompts, float(rates.mean()), mean)


@dataclass(frozen=True)
class _PromptFlow:
    """A configuration's objective, how much slower a verifier's errors make its flow, and its steps."""

    configuration: Configuration
    objective: Mapping[str, Any]
    decision: Mapping[str, Any]
    speed: float
    step: float | None
    steps: float | None

    def prompt(self, rate: float) -> PromptPrediction:
        """What becomes of a prompt of that base rate; the prediction bears no name yet."""
        time_trained = None if self.step is None or self.steps is None else self.step * self.steps
        if rate in (0.0, 1.0):
            return PromptPrediction("", rate, rate, (), None if time_trained is None else rate, None)
        reached, *ends = self._ends(rate)
        other_ends = tuple(end for end in ends if end != reached)
        unweighed = self.configuration.objective.advantage.scale is None
        if self._mixed_only or unweighed:  # The way there is not that of a KL on all groups, or not known.
            return PromptPrediction("", rate, reached, other_ends, None, None)
        path = self._along(rate, _TIMES)
        on_the_way = None if time_trained is None else float(self._along(rate, np.array([time_trained]))[0])
        target = rate + MOST_OF_THE_WAY * (reached - rate)
        arrived = np.flatnonzero(path >= target)
        # The pass rate rises: between two points of the grid it is nearly straight.
        time = None
        if arrived.size:
            time = float(np.interp(target, path[: arrived[0] + 1], _TIMES[: arrived[0] + 1]))
        return PromptPrediction("", rate, reached, other_ends, on_the_way, time)

    @property
    def _mixed_only(self) -> bool:
        """True if the KL acts on groups with both verdicts alone."""
        run = self.configuration.objective
        return self.objective["beta"] > 0 and run.mixed_only and run.of_tokens

    def _ends(self, rate: float) -> list[float]:
        """The stable pass rates, the one reached first; 1 where a clamp lets the wrong answers go."""
        from ..stationary import normalised_validities

        if not self.objective["beta"]:
            return [1.0]
        term = self.configuration.objective.term
        edge = np.exp(-np.inf if term is None else term.released_below)
        roots = normalised_validities(rate, **self.objective, mixed_only=self._mixed_only)
        stable = [root.pass_rate for root in roots if root.stable]
        return [1.0 if (1 - pass_rate) / (1 - rate) < edge else pass_rate for pass_rate in stable]

    def _along(self, rate: float, times: np.ndarray) -> np.ndarray:
        """The pass rate at these times."""
        from ..finite_training import pass_rate_along

        # Errors slow what the verdicts drive and not the penalty: the flow of beta over the speed, slower.
        return pass_rate_along(rate, times * self.speed, **self.decision, **self.objective)
