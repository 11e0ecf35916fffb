"""Predicted pass rates of prompts at a trainer's beta, and the beta that other forms need for the same."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence
from ..laws import normalised_validities, normalised_validity_at
from ..numeric.arrays import Scalars, positive, probability
from ..support.errors import argument_error
from .forms import KLForm

COMPARED = {
    f"{words} KL, advantages {divided}": (divergence, scale)
    for words, divergence in (("reverse", REVERSE_KL), ("forward", FORWARD_KL))
    for divided, scale in (("divided by the deviation", "std"), ("not divided", "none"))
}
"""The settings whose equivalent beta is told."""
_RANGE = float(np.log(1e-3)), float(np.log(1e3))
"""Between these log betas it is looked for."""


@dataclass(frozen=True)
class PromptPrediction:
    """One prompt: its base rate, the validity reached from the base, and other stable ones."""

    base_rate: float
    validity: float
    others: tuple[float, ...]


@dataclass(frozen=True)
class Prediction:
    """What a form does at a beta: to each prompt and on the mean, and the beta of other settings alike.

    `equivalent` holds, for each of `COMPARED` that can have the same mean validity, the beta that does.
    """

    form: KLForm
    beta: float
    group_size: int
    scale: str
    prompts: tuple[PromptPrediction, ...]
    mean_base_rate: float
    mean_validity: float
    equivalent: dict[str, float]


def predict(
    form: KLForm, beta: float, group_size: int, base_rates: Scalars, *, scale: str | None = None
) -> Prediction:
    """The validities of prompts that one decision answers, from theory E1 and E4.

    A prompt's law is that of beta/alpha_G(mu) at its own validity mu. Answers of many tokens under a token
    penalty end less valid than this (theory E2; `laws.token_law` has them exactly). `scale` overrides the
    form's division of advantages (see `laws.SCALES`); the 1e-4 or less that trainers add to the deviation is
    left out. Raises ValueError for no base rates or some outside [0, 1], beta <= 0, a group below two.
    """
    positive("beta", beta)
    rates = np.atleast_1d(probability("base_rates", base_rates)).ravel()
    if not rates.size:
        raise argument_error("base_rates", base_rates, "at least one base rate")
    scale = form.scale if scale is None else scale
    found = {rate: _prompt(form, beta, group_size, rate, scale) for rate in np.unique(rates).tolist()}
    prompts = tuple(found[rate] for rate in rates.tolist())
    mean = float(np.mean([prompt.validity for prompt in prompts]))
    equivalent = _equivalent(group_size, rates, mean)
    return Prediction(form, beta, group_size, scale, prompts, float(rates.mean()), mean, equivalent)


def _prompt(form: KLForm, beta: float, group_size: int, rate: float, scale: str) -> PromptPrediction:
    if rate in (0.0, 1.0):
        return PromptPrediction(rate, rate, ())
    roots = normalised_validities(rate, beta, group_size, scale, form.divergence)
    reached, *others = (root.validity for root in roots if root.stable)
    return PromptPrediction(rate, reached, tuple(others))


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
