"""Drift between correct answers by sampling noise: while training without a KL, and at a stationary policy.

s is the log-ratio of two correct answers that are equally likely in the base; s = 0 in the expected-gradient
run.
"""

import warnings
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ..binary_reward import kappa, mu_from_beta
from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence
from ..losses.kl_terms import DESCENDING
from ..numeric.arrays import (
    Scalars,
    first_bad,
    integers,
    open_rate,
    positive,
    probability,
    real,
    require_common_shape,
)
from ..numeric.elementary import Values, add_axes, expit, logit
from ..stationary import group_weight
from ..stationary.groups import success_weights
from ..support.errors import argument_error, choice
from .answers import BASELINES
from .flow import rising_times

SATURATED = 0.25
"""Above this `saturation` the first order in the noise is off by about a quarter."""
_PANELS, _NODES = 24, 12
"""Gauss-Legendre rule along the log odds: the integrands are analytic, and all digits are correct."""
_CENTRED = ("sequence_kl", "k3")  # The baseline removes their stationary penalty.
_STATIONARY_FORMS = tuple(form for form in DESCENDING if form != "future_kl")


class SmallNoiseWarning(UserWarning):
    """A first-order number whose noise is not small."""


def drift_deviation(
    base_rate: Scalars,
    reached: Scalars,
    *,
    valid: Scalars,
    invalid: Scalars,
    step: Scalars,
    answers: Scalars,
    baseline: str = "mean",
    group_size: int | None = None,
) -> Values:
    """Std of s over seeds when a run without a KL has brought the pass rate to `reached`.

    Var s = (2 eta g/N) O_T^{2g} int V^{-1-2g} (1-V)^{2g-2} (1-c(V))^2 dV from A1 to V_T, g = n0/(n0+K), O =
    V/(1-V): the first correct samples decide. The speed is the same for every baseline.

    Parameters: base_rate A1 < reached V_T in (0, 1); valid K >= 2 equally likely correct answers and invalid
    n0 >= 1 incorrect ones; step eta > 0 in logits; answers N per step; the baseline c that is subtracted from
    rewards, "none" (0), "mean" (V) or "one" (1). With group_size G, which divides N, advantages are those of
    GRPO, std-normalised by the group. Shapes broadcast. Returns the std, to first order in the noise. Raises
    ValueError for numbers out of range. Emits a `SmallNoiseWarning` if `saturation` exceeds SATURATED.

    >>> float(drift_deviation(0.3, 0.9, valid=2, invalid=8, step=0.02, answers=64).round(6))
    0.150699

    Source: ours, entries `sampling_noise`.
    """
    low, high = open_rate("base_rate", base_rate), open_rate("reached", reached)
    step = positive("step", step)
    valid, invalid = integers("valid", valid, at_least=2), integers("invalid", invalid, at_least=1)
    answers = integers("answers", answers, at_least=1)
    require_common_shape(
        base_rate=low, reached=high, step=step, valid=valid, invalid=invalid, answers=answers
    )
    if np.any(high < low):
        raise argument_error("reached", reached, "at least the base rate: training without a KL raises it")
    choice("baseline", baseline, BASELINES)
    share = invalid / (invalid + valid)
    start, stop = logit(low), logit(high)
    z, width = _nodes(start, stop)
    pass_rate = expit(z)
    left = (1 - BASELINES[baseline](pass_rate)) ** 2 * (1 + np.exp(z))
    if group_size is not None:
        left = _normalised(pass_rate, group_size, answers, baseline)
    # In log odds z the variance is (2 eta g/N) int e^{2g(z_T - z)} (1-c)^2 (1 + e^z) dz.
    power = np.exp(2 * add_axes(share, 1) * (add_axes(stop, 1) - z))
    variance = 2 * step * share / answers * (width * power * left).sum(axis=-1)
    return trusted(np.sqrt(variance))


def excess_by_noise(
    base_rate: Scalars, reached: Scalars, *, valid: Scalars, invalid: Scalars, step: Scalars, answers: Scalars
) -> Values:
    """Mean over seeds of the KL above the minimum that sampling noise alone adds, without a KL penalty.

    This KL is V times the KL between the correct answers' shares: to second order V (1 - 1/K)/4 Var s. It is
    capped at V log K, where one of K equal answers has all mass, because the first order of Var s has no
    bound. Only KL beyond this number shows that the objective itself changes the base's proportions.
    Arguments, errors and warnings are those of `drift_deviation`; 0 if the pass rate has not risen.

    >>> float(excess_by_noise(0.3, 0.9, valid=2, invalid=8, step=0.02, answers=64).round(5))
    0.00255

    Source: ours, entries `frontier`, `sampling_noise`.
    """
    low, high = open_rate("base_rate", base_rate), probability("reached", reached)
    risen = np.maximum(low, high)
    drift = drift_deviation(low, risen, valid=valid, invalid=invalid, step=step, answers=answers)
    count = np.asarray(valid)
    return np.minimum(high * (1 - 1 / count) * drift**2 / 4, high * np.log(count))


def pass_rate_along(
    base_rate: float,
    times: Scalars,
    *,
    valid: int,
    invalid: int,
    beta: float = 0.0,
    divergence: FDivergence = REVERSE_KL,
    group_size: int | None = None,
    scale: str = "none",
) -> np.ndarray:
    """Pass rate along the expected-gradient run of a decision with equally likely (in)correct answers.

    In log odds z of V: dz/dtau = V (1-V) (1/K + 1/n0) (alpha_G(V) - beta (h(u_correct) -
        h(u_incorrect))), h = log u for the reverse KL and 1 - 1/u for the forward KL (the gradient of k3
        without importance weight).

    Parameters: base_rate in (0, 1); times, steps times the effective logit step, increasing from 0; valid
        K and invalid n0 answers; beta >= 0 and its divergence; with group_size, `scale` is the
        advantages' divisor (`stationary.SCALES`), else alpha = 1. Returns V at the times. Raises
        ValueError for numbers out of range.

    >>> pass_rate_along(0.3, [0, 20], valid=2, invalid=8).round(3)
    array([0.3  , 0.849])

    Source: ours, entries `sequence_penalties`, `group_advantages`, `sampling_noise`.
    """
    base = float(open_rate("base_rate", base_rate))
    integers("valid", valid, at_least=1), integers("invalid", invalid, at_least=1)
    real("beta", beta, at_least=0)
    choice("divergence", divergence.name, (REVERSE_KL.name, FORWARD_KL.name))
    moments = rising_times(times)
    start, both = float(logit(np.asarray(base))), 1 / valid + 1 / invalid

    def slope(time: float, state: np.ndarray) -> np.ndarray:
        mass = expit(state)
        gain = 1.0 if group_size is None else group_weight(group_size, mass, scale)
        penalty_slope = state - start
        if divergence is FORWARD_KL:
            penalty_slope = (1 - base) * (1 + np.exp(state)) - base * (1 + np.exp(-state))
        return mass * (1 - mass) * both * (gain - beta * penalty_slope)

    if moments[-1] == 0:
        return np.full(moments.shape, base)
    span = (0.0, float(moments[-1]))
    path: Any = solve_ivp(slope, span, [start], t_eval=moments, method="LSODA", rtol=1e-9, atol=1e-11)
    return expit(path.y[0])


def _nodes(start: Values, stop: Values) -> tuple[Values, Values]:
    """Gauss nodes and weights, both (..., nodes), for integrals from `start` to `stop`, each (...)."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    unit = (np.arange(_PANELS)[:, None] + (points + 1) / 2).ravel() / _PANELS
    length = add_axes(stop - start, 1)
    return add_axes(start, 1) + length * unit, length * np.tile(weights / 2, _PANELS) / _PANELS


def _normalised(pass_rate: Values, group_size: int, answers: Values, baseline: str) -> Values:
    """E[A^2 | v=1]/alpha_G (1 + e^z), shape of `pass_rate`, for GRPO's advantage A with that baseline."""
    integers("group_size", group_size, at_least=2)
    uneven = np.asarray(answers) % group_size != 0
    if uneven.any():
        wrong = first_bad(answers, uneven)
        raise argument_error("answers", int(wrong), f"a multiple of group_size = {group_size}")
    if baseline != "mean":
        raise argument_error("baseline", baseline, "'mean' with group_size: the group's mean is subtracted")
    correct = np.arange(group_size)
    right, size = correct + 1, group_size
    # Advantage of a correct answer for each number of other correct answers; 0 in a group of equal rewards.
    spread = np.sqrt(np.maximum(right * (size - right), 0) / (size * (size - 1)))
    squared = np.divide((1 - right / size), spread, out=np.zeros(size), where=spread > 0) ** 2
    mean_square = (success_weights(size - 1, pass_rate) * squared).sum(axis=-1)
    return mean_square / group_weight(size, pass_rate) / (1 - pass_rate)


def stationary_spread(
    base_rate: Scalars, beta: Scalars, *, form: str, step: Scalars, answers: Scalars
) -> Values:
    """Std over seeds of s at a stationary policy, at a constant step; for a single decision.

    "sequence_kl" and "k3": 0 at every step (for k3 up to the sampling of its own baseline, of order 1/N).
    "k2" and "k3_corrected": the penalty in the loss is not centred, and the variance is eta b KL(p_b ||
    a)^2/N. With std-normalised groups and the KL in the reward, vanishing differences still get advantages of
    size one: that spread does not fall with the number of groups, and no form here describes it.

    Parameters: base_rate A1 in (0, 1); beta > 0; form, as in `experiment small-llama`; step > 0 in logits;
    answers N per step. Shapes broadcast. Returns the std. Raises ValueError for another form and for numbers
    out of range.

    >>> float(stationary_spread(0.7, 0.5, form="k2", step=1.0, answers=1).round(5))
    0.13481

    Source: ours, entries `sampling_noise`.
    """
    choice("form", form, _STATIONARY_FORMS)
    base_rate, beta, step = open_rate("base_rate", base_rate), positive("beta", beta), positive("step", step)
    answers = integers("answers", answers, at_least=1)
    require_common_shape(base_rate=base_rate, beta=beta, step=step, answers=answers)
    deviation = np.sqrt(step * beta / answers) * _stationary_kl(base_rate, beta)
    return 0 * deviation if form in _CENTRED else trusted(deviation)


def _stationary_kl(base_rate: Values, beta: Values) -> Values:
    """KL(p_b || a) in nats, accurate also for large beta; shapes broadcast."""
    gain = np.minimum(1 / beta, 1.0)
    masses = np.stack([base_rate + 0 * gain, 1 - base_rate + 0 * gain], axis=-1)
    # log u of correct and of incorrect answers, both without a difference of near numbers.
    log_u = -np.log1p(masses[..., ::-1] * np.expm1(np.stack([-gain, gain], axis=-1)))
    near = (masses * REVERSE_KL.on_log_ratio(log_u, gauge="normalised").value).sum(axis=-1)
    return np.where(beta > 1, near, kappa(mu_from_beta(base_rate, beta), base_rate))


def saturation(deviation: Scalars) -> Values:
    """Approximate share by which the first order is too large: 1 - tanh(d)/d at the std d of s.

    A log-ratio cannot move an answer's share beyond 0 or 1. Simulated drifts are 5% below predicted ones
    where this value is .09, and 25% below where it is .30. Source: ours, entries `sampling_noise`.
    """
    deviation = np.asarray(real("deviation", deviation, at_least=0), dtype=float)
    safe = np.where(deviation == 0, 1.0, deviation)
    return np.where(deviation == 0, 0.0, 1 - np.tanh(safe) / safe)


def trusted(deviation: Values) -> Any:
    """Return the std, with a `SmallNoiseWarning` if the first order in the noise is too large."""
    most = float(np.max(saturation(deviation), initial=0.0))
    if most > SATURATED:
        words = f"the noise is not small: the first order may be {most:.0%} too large"
        warnings.warn(words, SmallNoiseWarning, stacklevel=3)
    return deviation
