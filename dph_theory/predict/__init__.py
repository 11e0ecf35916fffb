"""What a trainer's beta will do: the pass rates it leads to, and what other settings need for the same.

The trainers' KL terms and the laws they have stand in `dph_theory.trainers`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..divergences import FORWARD_KL, REVERSE_KL
from ..dynamics import pass_rate_along
from ..fdivergence import FDivergence
from ..laws import effective_beta, normalised_validities, normalised_validity_at
from ..numeric.arrays import Scalars, positive, probability
from ..support.errors import argument_error
from ..support.notebook import Shown
from ..support.record import readable
from ..support.table import Table
from ..trainers import KLTerm
from ..trainers import kl_form as kl_form

COMPARED = {
    f"{words} KL, advantages {divided}": (divergence, scale)
    for words, divergence in (("reverse", REVERSE_KL), ("forward", FORWARD_KL))
    for divided, scale in (("divided by the deviation", "std"), ("not divided", "none"))
}
"""The settings whose equivalent beta is told."""
SCALE = "std"
"""How the trainers divide their advantages by default (see `laws.SCALES`)."""
_UNDIVIDED = ("none", "leave_one_out")
_RANGE = float(np.log(1e-3)), float(np.log(1e3))
"""Between these log betas it is looked for."""


@dataclass(frozen=True)
class PromptPrediction:
    """One prompt: its base rate, the validity reached from the base, and other stable ones."""

    __repr__ = readable

    base_rate: float
    validity: float
    others: tuple[float, ...]
    on_the_way: float | None = None
    """After the steps asked for; None where none were."""


@dataclass(frozen=True)
class Budget:
    """So many steps, each so large in logits, of a decision between equal right and equal wrong answers."""

    steps: int
    step: float
    valid: int
    invalid: int


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """What a form does at a beta: to each prompt and on the mean, and the beta of other settings alike.

    `equivalent` holds, for each of `COMPARED` that can have the same mean validity, the beta that does.
    """

    form: KLTerm
    beta: float
    group_size: int
    scale: str
    prompts: tuple[PromptPrediction, ...]
    mean_base_rate: float
    mean_validity: float
    equivalent: dict[str, float]

    def summary(self) -> str:
        """The form and its law, and the mean pass rate."""
        return (
            f"{self.form.trainer}, {self.form.flags}, beta {self.beta:g}, groups of {self.group_size}: "
            f"{self.form.law}.\nThe mean pass rate over {len(self.prompts)} prompts goes from "
            f"{self.mean_base_rate:.4f} to {self.mean_validity:.4f}."
        )

    def tables(self) -> list[Table]:
        """Each prompt's pass rates, and the beta of other settings for the same mean."""
        rows = ((p.base_rate, p.on_the_way, p.validity, ", ".join(f"{v:.4g}" for v in p.others) or None)
                for p in self.prompts)  # fmt: skip
        head = ("base rate", "after the steps", "predicted", "also stable")
        alike = Table.of(("setting", "beta for the same mean"), self.equivalent.items())
        return [Table.of(head, rows), *[alike] * bool(self.equivalent)]


def predict(
    form: KLTerm,
    beta: float,
    group_size: int,
    base_rates: Scalars,
    *,
    scale: str | None = None,
    false_positive: float = 0.0,
    false_negative: float = 0.0,
    budget: Budget | None = None,
) -> Prediction:
    """The pass rates of prompts that one decision answers, from theory E1 and E4.

    Parameters: `form`, as `kl_form` gives it, one of the reverse or the forward KL; `beta` > 0; `group_size`
    of at least two; `base_rates`, the base's pass rates in [0, 1]; `scale`, what advantages are divided by
    (see `laws.SCALES`), the deviation by default; the 1e-4 or less that trainers add to it is left out. A
    prompt's law is that of beta/alpha_G(mu) at its own validity mu. Where that leaves a wrong answer less
    than the form's clamp holds, nothing holds it, and the pass rate is 1. Answers of many tokens under a
    token penalty end less valid than this (theory E2; `laws.token_law` has them exactly). A verifier that
    errs, whatever the answer, makes beta act as `laws.effective_beta`; only where advantages are not divided
    by what its errors move ("none", "leave_one_out"). `budget`: steps after which the pass rates are told
    too, without noise. Returns a Prediction. Raises ValueError for what these do not allow, and for no base
    rates.

    >>> round(predict(kl_form("trl"), 0.5, 8, [0.25]).mean_validity, 4)
    0.9755
    """
    positive("beta", beta)
    rates = np.atleast_1d(probability("base_rates", base_rates)).ravel()
    if not rates.size:
        raise argument_error("base_rates", base_rates, "at least one base rate")
    if form.divergence is None:
        raise argument_error("form", form.title, "a KL term with a known law")
    scale = SCALE if scale is None else scale
    acts_as = float(effective_beta(beta, false_positive, false_negative))
    if acts_as != beta and scale not in _UNDIVIDED:
        raise argument_error("scale", scale, f"one of {', '.join(_UNDIVIDED)}, with a verifier that errs")
    found = {
        rate: _prompt(form, acts_as, group_size, rate, scale, budget) for rate in np.unique(rates).tolist()
    }
    prompts = tuple(found[rate] for rate in rates.tolist())
    mean = float(np.mean([prompt.validity for prompt in prompts]))
    equivalent = _equivalent(group_size, rates, mean)
    return Prediction(form, beta, group_size, scale, prompts, float(rates.mean()), mean, equivalent)


def _prompt(
    form: KLTerm, beta: float, group_size: int, rate: float, scale: str, budget: Budget | None
) -> PromptPrediction:
    if rate in (0.0, 1.0):
        return PromptPrediction(rate, rate, (), None if budget is None else rate)
    roots = normalised_validities(rate, beta, group_size, scale, form.divergence or REVERSE_KL)
    reached, *others = (_released(form, rate, root.validity) for root in roots if root.stable)
    on_the_way = None
    if budget is not None:
        along = pass_rate_along(
            rate,
            [budget.steps * budget.step],
            valid=budget.valid,
            invalid=budget.invalid,
            beta=beta,
            divergence=form.divergence or REVERSE_KL,
            group_size=group_size,
            scale=scale,
        )
        on_the_way = float(along[0])
    return PromptPrediction(rate, reached, tuple(other for other in others if other != reached), on_the_way)


def _released(form: KLTerm, rate: float, validity: float) -> float:
    """1 where wrong answers have so little of the base's mass that a clamp takes their gradient away."""
    return 1.0 if (1 - validity) / (1 - rate) < np.exp(form.released_below) else validity


def _equivalent(group_size: int, rates: np.ndarray, mean: float) -> dict[str, float]:
    """For each setting the beta with that mean validity, where one has it."""
    found = {}
    for words, (divergence, scale) in COMPARED.items():

        def excess(log_beta: float, divergence: FDivergence = divergence, scale: str = scale) -> float:
            reached = normalised_validity_at(rates, np.exp(log_beta), group_size, scale, divergence)
            return float(np.mean(reached)) - mean

        if excess(_RANGE[0]) > 0 > excess(_RANGE[1]):
            log_beta = brentq(excess, *_RANGE, xtol=1e-12)
            # Where validity jumps at some beta, no beta may have this mean.
            if abs(excess(log_beta)) < 1e-6:
                found[words] = float(np.exp(log_beta))
    return found
