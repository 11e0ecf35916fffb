"""What a run's settings will do: the pass rates that they lead to, when, and what other settings do the same.

`configuration_of` reads the settings of nine trainers; the KL terms and their laws stand in
`dph_theory.methods.kl_terms`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..laws import effective_beta, normalised_validities, normalised_validity_at
from ..numeric.arrays import Scalars, probability
from ..support.errors import argument_error
from ..support.notebook import Shown
from ..support.record import readable
from ..support.table import Table
from .configuration import configuration_of as configuration_of
from .reading import Configuration

if TYPE_CHECKING:
    from ..fdivergence import FDivergence

COMPARED = {
    f"{words} KL, advantages {divided}": (divergence, scale)
    for words, divergence in (("reverse", REVERSE_KL), ("forward", FORWARD_KL))
    for divided, scale in (("divided by the deviation", "std"), ("not divided", "none"))
}
"""The settings whose equivalent beta is told."""
UNDIVIDED = ("none", "leave_one_out")
"""The scales under which a verifier that errs acts as another beta."""
NEAR = 0.99
"""The share of the way from the base to the end after which a prompt counts as there."""
_RANGE = float(np.log(1e-3)), float(np.log(1e3))
"""Between these log betas it is looked for."""
_TIMES = np.geomspace(1e-2, 9e5, 161)
"""Steps times their size in logits, at which it is looked whether a prompt is there."""


@dataclass(frozen=True)
class PromptPrediction:
    """One prompt: its base rate, the validity reached from the base, and other stable ones.

    `on_the_way`: after the steps asked for; None where none were. `time`: steps times their size in logits
    after which it is `NEAR` its end; None where it stays, or is not there within a million.
    """

    __repr__ = readable

    base_rate: float
    validity: float
    others: tuple[float, ...]
    on_the_way: float | None = None
    time: float | None = None


@dataclass(frozen=True)
class Decision:
    """What time is told of: a decision between equally likely right and equally likely wrong answers."""

    valid: int = 2
    invalid: int = 8


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """What settings do: to each prompt and on the mean, and the beta of other settings alike.

    `equivalent` holds, for each of `COMPARED` that can have the same mean validity, the beta that does.
    """

    configuration: Configuration
    prompts: tuple[PromptPrediction, ...]
    mean_base_rate: float
    mean_validity: float
    equivalent: dict[str, float]

    def summary(self) -> str:
        """The settings and their law, and the mean pass rate."""
        found = self.configuration
        return (
            f"{found.trainer} {found.version}, {found.penalty}, groups of {found.group_size}: {found.law}.\n"
            f"The mean pass rate over {len(self.prompts)} prompts goes from {self.mean_base_rate:.4f} to "
            f"{self.mean_validity:.4f}."
        )

    def tables(self) -> list[Table]:
        """Each prompt's pass rates, and the beta of other settings for the same mean."""
        rows = ((p.base_rate, p.on_the_way, p.validity, ", ".join(f"{v:.4g}" for v in p.others) or None)
                for p in self.prompts)  # fmt: skip
        head = ("base rate", "after the steps", "predicted", "also stable")
        alike = Table.of(("setting", "beta for the same mean"), self.equivalent.items())
        return [Table.of(head, rows), *[alike] * bool(self.equivalent)]

    def pass_at(self, k: int) -> tuple[float, float | None, float]:
        """Pass@k of the base, after the steps (None where none were asked for), and at the end."""
        ways = [p.on_the_way for p in self.prompts if p.on_the_way is not None]
        rates = [p.base_rate for p in self.prompts], ways, [p.validity for p in self.prompts]
        base, way, end = (float(np.mean(1 - (1 - np.array(each)) ** k)) if each else None for each in rates)
        return float(base or 0.0), way, float(end or 0.0)


def predict(
    found: Configuration,
    base_rates: Scalars,
    *,
    false_positive: float = 0.0,
    false_negative: float = 0.0,
    moved: float | None = None,
    decision: Decision | None = None,
) -> Prediction:
    """The pass rates of prompts that one decision answers, from theory E1 and E4.

    Parameters: `found`, as `configuration_of` gives it; `base_rates`, the base's pass rates in [0, 1]. A
    prompt's law is that of beta/alpha_G(mu) at its own validity mu; without a KL it tends to 1. Where that
    leaves a wrong answer less than the form's clamp holds, nothing holds it, and the pass rate is 1. The 1e-4
    or less that trainers add to a deviation is left out. Answers of many tokens under a token penalty end
    less valid than this (theory E2; `laws.token_law` has them exactly). A verifier that errs, whatever the
    answer, makes beta act as `laws.effective_beta`; only where advantages are not divided by what its errors
    move ("none", "leave_one_out"). `moved`: steps times their size in logits after which the pass rates are
    told too, of a `decision`, without noise. Returns a Prediction. Raises ValueError for what these do not
    allow, for settings whose law is not known, for no base rates, and where the group size is needed and not
    told.

    >>> round(predict(configuration_of({"beta": 0.5, "num_generations": 8}), [0.25]).mean_validity, 4)
    0.9755
    """
    rates = np.atleast_1d(probability("base_rates", base_rates)).ravel()
    if not rates.size:
        raise argument_error("base_rates", base_rates, "at least one base rate")
    if why := unpredictable(found):
        raise ValueError(f"no pass rates are told: {why}")
    beta, speed = found.coefficient, 1 - false_positive - false_negative
    errs = bool(false_positive or false_negative)
    if errs and found.scale not in UNDIVIDED:
        raise argument_error(
            "scale", found.scale, f"one of {', '.join(UNDIVIDED)}, with a verifier that errs"
        )
    acts_as = float(effective_beta(beta or 1.0, false_positive, false_negative)) if errs else beta
    run = _Run(found, acts_as if beta else 0.0, speed, moved, decision or Decision())
    told = {rate: _prompt(run, rate) for rate in np.unique(rates).tolist()}
    prompts = tuple(told[rate] for rate in rates.tolist())
    mean = float(np.mean([prompt.validity for prompt in prompts]))
    equivalent = _equivalent(found.group_size or 2, rates, mean) if beta else {}
    return Prediction(found, prompts, float(rates.mean()), mean, equivalent)


def unpredictable(found: Configuration) -> str:
    """Why these settings have no pass rates, "" where they have."""
    # Of one answer, or with nothing subtracted, the weight is that of any group's answer less the others.
    if not found.unpredicted and found.group_size is None and found.scale != "leave_one_out":
        return "the settings do not say how many answers a prompt has"
    return found.unpredicted


@dataclass(frozen=True)
class _Run:
    """A configuration with the beta that acts, how much slower a verifier's errors make it, and a time."""

    found: Configuration
    beta: float
    speed: float
    moved: float | None
    decision: Decision

    @property
    def divergence(self) -> "FDivergence":
        """The one that the KL term descends."""
        term = self.found.term
        return (term.divergence if term is not None else None) or REVERSE_KL

    @property
    def group(self) -> int:
        """The group's size; without one that of any group, whose answers less the others weigh alike."""
        return self.found.group_size or 2

    def along(self, rate: float, times: np.ndarray) -> np.ndarray:
        """The pass rate at these times."""
        from ..dynamics import pass_rate_along

        # Errors slow what the verdicts drive and not the penalty: the flow of beta over the speed, slower.
        return pass_rate_along(
            rate,
            times * self.speed,
            valid=self.decision.valid,
            invalid=self.decision.invalid,
            beta=self.beta,
            divergence=self.divergence,
            group_size=self.group,
            scale=self.found.scale or "none",
        )


def _prompt(run: _Run, rate: float) -> PromptPrediction:
    if rate in (0.0, 1.0):
        return PromptPrediction(rate, rate, (), None if run.moved is None else rate)
    reached, others = 1.0, []
    if run.beta:
        roots = normalised_validities(rate, run.beta, run.group, run.found.scale or "none", run.divergence)
        reached, *others = (_released(run.found, rate, root.validity) for root in roots if root.stable)
    way = np.concatenate([[0.0], _TIMES])
    along = run.along(rate, way)
    target = rate + NEAR * (reached - rate)
    there = np.flatnonzero(along >= target)
    on_the_way = None if run.moved is None else float(run.along(rate, np.array([run.moved]))[0])
    # The pass rate rises: between two points of the grid it is nearly straight.
    time = float(np.interp(target, along[: there[0] + 1], way[: there[0] + 1])) if there.size else None
    return PromptPrediction(rate, reached, tuple(o for o in others if o != reached), on_the_way, time)


def _released(found: Configuration, rate: float, validity: float) -> float:
    """1 where wrong answers have so little of the base's mass that a clamp takes their gradient away."""
    edge = -np.inf if found.term is None else found.term.released_below
    return 1.0 if (1 - validity) / (1 - rate) < np.exp(edge) else validity


def _equivalent(group_size: int, rates: np.ndarray, mean: float) -> dict[str, float]:
    """For each setting the beta with that mean validity, where one has it."""
    from scipy.optimize import brentq

    found = {}
    for words, (divergence, scale) in COMPARED.items():

        def excess(log_beta: float, divergence: "FDivergence" = divergence, scale: str = scale) -> float:
            reached = normalised_validity_at(rates, np.exp(log_beta), group_size, scale, divergence)
            return float(np.mean(reached)) - mean

        if excess(_RANGE[0]) > 0 > excess(_RANGE[1]):
            log_beta = brentq(excess, *_RANGE, xtol=1e-12)
            # Where validity jumps at some beta, no beta may have this mean.
            if abs(excess(log_beta)) < 1e-6:
                found[words] = float(np.exp(log_beta))
    return found
