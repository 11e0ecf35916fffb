"""Estimators: of the KL, with the gradients they give; of f-divergences, in two forms; alpha-DPG's reward.

An estimator is declared once, as a sympy expression in x = log(pi/ref) at a sampled outcome. Its value on
samples and its gradient, when a loss differentiates it through log pi at fixed samples, follow, exactly,
by summing over outcomes. Gradients are in logits, shape (..., outcomes). Source: schulman2020kl.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import sympy

from ..binary_reward import filtered
from ..fdivergence import FDivergence
from ..losses.kl_terms import ESTIMATORS
from ..numeric.compiled import compiled
from ..numeric.elementary import Values, add_axes, exp_remainder, log_ratio
from ..support.record import readable
from ._policies import expected_update
from ._token_pairs import ratio_where

x = sympy.Symbol("x", real=True)
"""log(pi/ref) at the sampled outcome."""


@dataclass(frozen=True)
class Estimator:
    """A KL estimator k(x) of the log ratio x = log(pi/ref) at outcomes sampled from the policy."""

    name: str
    expression: sympy.Expr = field(repr=False)

    def on_samples(self, log_ratios: Any) -> Values:
        """Value k(x) at log-ratios x = log(pi/ref) of any shape; k3 without cancellation near 0."""
        if self is K3:
            return exp_remainder(-np.asarray(log_ratios, dtype=float))
        return _evaluate(self.expression, log_ratios)

    def slope(self, log_ratios: Any) -> Values:
        """Derivative dk/dx at log-ratios x of any shape: factor of a sample's score in the loss gradient."""
        return _evaluate(sympy.diff(self.expression, x), log_ratios)

    def expected_value(self, pi: Values, ref: Values) -> Values:
        """Expectation E_pi[k] that the estimator estimates; pi and ref (..., outcomes) give (...)."""
        return (pi * self.on_samples(log_ratio(pi, ref))).sum(axis=-1)

    def loss_gradient(self, pi: Values, ref: Values) -> Values:
        """Logit gradient E_pi[grad k] of k as a loss term, samples constant; shapes (..., outcomes)."""
        return expected_update(pi, self.slope(log_ratio(pi, ref)))

    def corrected_loss_gradient(self, pi: Values, ref: Values) -> Values:
        """Logit gradient of (pi/pi_old) k as a loss term, at pi_old = pi; shapes (..., outcomes).

        The importance ratio is differentiated too, so k itself joins its slope as a weight.
        """
        log_ratios = log_ratio(pi, ref)
        return expected_update(pi, self.on_samples(log_ratios) + self.slope(log_ratios))

    def reward_gradient(self, pi: Values, ref: Values) -> Values:
        """Logit gradient E_pi[k grad log pi] of the penalty with -k in the reward; shapes (..., outcomes)."""
        return expected_update(pi, self.on_samples(log_ratio(pi, ref)))


K1, K2, K3 = (Estimator(name, ESTIMATORS[name].value(sympy, x)) for name in ("k1", "k2", "k3"))


def k2_of_ratio(ratio: Values) -> Values:
    """k2 = (log u)^2/2 of ratios u = pi/ref, any shape, at samples from ref; concave beyond u = e."""
    return np.square(np.log(ratio)) / 2


def k3_of_ratio(ratio: Values) -> Values:
    """k3 = u - 1 - log u of ratios u = pi/ref, any shape, at samples from ref."""
    return K3.on_samples(-np.log(ratio))


def mean_on_filtered(loss: Callable[[Values], Values], pi: Values, base: Values, valid: Values) -> Values:
    """E_{p_*}[loss(pi/base)], a mean over the base's correct samples; shapes (..., outcomes) give (...)."""
    # Invalid outcomes have no weight; a ratio of one there keeps policies without invalid mass finite.
    ratio = ratio_where(np.asarray(valid).astype(bool), np.asarray(pi), np.asarray(base))
    with np.errstate(divide="ignore"):
        losses = loss(ratio)
    return (filtered(base, valid) * losses).sum(axis=-1)


def _evaluate(expression: sympy.Expr, log_ratios: Any) -> Values:
    log_ratios = np.asarray(log_ratios)
    return np.broadcast_to(compiled(expression, x)(log_ratios), log_ratios.shape)


class Moments(NamedTuple):
    """Mean and variance of a one-sample estimator, each (...)."""

    def __repr__(self) -> str:
        return readable(self)

    mean: Values
    variance: Values


def generator_form(divergence: FDivergence, pi: Values, ref: Values) -> Moments:
    """Moments (...) of f(u) - f'(1)(u-1) at one sample from ref; the mean is D_f. Source: li2025choice."""
    return _moments(ref, normalised_generator(divergence, pi / ref))


def definition_form(divergence: FDivergence, pi: Values, ref: Values) -> Moments:
    """Moments (...) of (f(u) - f'(1)(u-1))/u at one sample from the policy; the mean is D_f."""
    return _moments(pi, normalised_generator(divergence, pi / ref) / (pi / ref))


def normalised_generator(divergence: FDivergence, ratio: Values) -> Values:
    """Generator without its linear term, f(u) - f'(1)(u-1), at ratios u = pi/ref of any shape."""
    return divergence.generator(ratio) - divergence.gauge * (ratio - 1)


def _moments(distribution: Values, value: Values) -> Moments:
    mean = (distribution * value).sum(axis=-1)
    return Moments(mean, (distribution * np.square(value - add_axes(mean, 1))).sum(axis=-1))


def alpha_dpg_reward(pi: Values, base: Values, valid: Values, alpha: Values | float) -> Values:
    """The alpha-DPG reward R(y) = ((p_*(y)/pi(y))^alpha - 1)/alpha, shape (..., outcomes); alpha > 0.

    On invalid outcomes it is -1/alpha. E_pi[R grad log pi] = -grad D_{f_alpha}(pi || p_*).
    Source: kruszewski2026whatever.
    """
    target, power = filtered(base, valid), add_axes(alpha, 1)
    paid = target > 0
    log_ratios = log_ratio(np.where(paid, target, 1.0), np.where(paid, pi, 1.0))
    return np.where(paid, np.expm1(power * log_ratios) / power, -1 / power)
