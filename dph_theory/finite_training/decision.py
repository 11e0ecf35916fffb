"""Policy gradients on a single decision: the plain flow, its orbit and limit, and the natural gradient.

These are the closed cases of `flow` without a penalty. A tabular softmax policy q ~ e^theta maximises E_q v
from the base a; v is 1 on the correct set Y1 and 0 on Y0. The plain gradient follows a curve (`orbit`) to the
uniform distribution on the likeliest correct outcomes; the natural gradient passes through the tilted
policies p_b at beta = 1/time to the filtered policy. Policies, logits and masks have shape (batch, outcomes),
times (batch,). Source: ours, entries `implicit_bias`.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..numeric.arrays import Distribution, Mask, Scalars, distribution, finite, mask, real
from ..numeric.elementary import Values, add_axes, minimisers, normalised
from ..numeric.roots import newton_root
from ..support.errors import argument_error

RUNGE_KUTTA_STEPS = 24
"""At time 10 a logit is off by about 1e-6."""

Field: TypeAlias = Callable[[Values, Values], Values]  # Maps (theta, valid) to d theta/dt.


def softmax(theta: Values) -> Values:
    """Policy e^theta / sum e^theta, shape (..., outcomes)."""
    return normalised(np.exp(theta - add_axes(np.max(theta, axis=-1), 1)))


def plain_gradient(theta: Scalars, valid: Mask) -> Values:
    """Gradient of E_q v in logits, d theta_y/dt = q_y (v_y - E_q v), shape (..., outcomes).

    Raises ValueError for logits that are not finite and for a verifier of another shape.
    """
    theta = _logits(theta)
    valid = mask("valid", valid, theta)
    policy = softmax(theta)
    return policy * (valid - (policy * valid).sum(axis=-1, keepdims=True))


def _logits(theta: Scalars) -> Values:
    theta = finite("theta", theta)
    if not theta.ndim or not theta.shape[-1]:
        raise argument_error("theta.shape", theta.shape, "needs a last axis of outcomes")
    return theta


def natural_gradient(theta: Scalars, valid: Mask) -> Values:
    """Natural gradient of E_q v in logits, d theta_y/dt = v_y - E_q v; errors as in `plain_gradient`."""
    theta = _logits(theta)
    valid = mask("valid", valid, theta)
    return valid - (softmax(theta) * valid).sum(axis=-1, keepdims=True)


def integrate(
    field: Field, base: Values, valid: Values, time: Values, steps: int = RUNGE_KUTTA_STEPS
) -> Values:
    """Logits (..., outcomes) at `time` (...) on the path of d theta/dt = field(theta, valid) from log base.

    The classical Runge-Kutta method takes `steps` equal steps.
    """
    theta, h = np.log(base), add_axes(time, 1) / steps
    for _ in range(steps):
        k1 = field(theta, valid)
        k2 = field(theta + h / 2 * k1, valid)
        k3 = field(theta + h / 2 * k2, valid)
        k4 = field(theta + h * k3, valid)
        theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return theta


def orbit(base: Distribution, valid: Mask, left: Scalars) -> Values:
    """Policy on the plain gradient's path where the likeliest correct outcome has e^-theta = left/a.

    `left` in (0, 1] has shape (...). The flow conserves sum theta, and e^-theta_y - e^-theta_y' within Y1
    and within Y0: e^-theta_y = 1/a_y - s1 on Y1 and 1/a_y + s0 on Y0, where s0 follows from s1 by the
    sum. Raises ValueError unless some outcomes are valid and some are not.
    """
    base = distribution("base", base)
    valid = mask("valid", valid, base, both=True)
    left = real("left", left, above=0, at_most=1)
    masses = (np.where(side, base, 0).sum(axis=-1) for side in (valid, ~np.asarray(valid, bool)))
    if any((mass <= 0).any() for mass in masses):
        raise argument_error("base", base, "mass on a valid and on an invalid outcome")
    top = np.where(valid, base, 0).max(axis=-1, keepdims=True)
    left = np.asarray(left)[..., None]
    # 1 - s1 a_y with s1 = (1 - left)/top, without cancellation at y = top.
    remaining = np.where(valid, (top - base) / top + left * base / top, 1.0)
    gained = -np.log(remaining).sum(axis=-1, keepdims=True)
    shift = _balancing_shift(np.where(valid, 0, base), gained)
    return normalised(np.where(valid, base / remaining, base / (1 + shift * base)))


def _balancing_shift(base: Values, gained: Values) -> Values:
    """Solve sum_{Y0} log(1 + s0 a_y) = gained for s0 >= 0; `gained` and result have shape (..., 1)."""
    top = base.max(axis=-1, keepdims=True)
    # The largest term is at most the sum: the start is above in z = log(1 + s0 top), where the sum is convex.
    relative, gained = base / top, gained[..., 0]

    def step(z: Values) -> Values:
        growth = add_axes(np.expm1(z), 1) * relative
        slope = (add_axes(np.exp(z), 1) * relative / (1 + growth)).sum(axis=-1)
        return np.minimum((gained - np.log1p(growth).sum(axis=-1)) / slope, 0.0)

    return np.expm1(newton_root(step, gained))[..., None] / top


def uniform_on_likeliest(base: Scalars, valid: Mask) -> Values:
    """Limit of the plain gradient, uniform on argmax_{Y1} a, (..., outcomes); `base` may be weights."""
    base = finite("base", base)
    if (base < 0).any():
        raise argument_error("base", base, "weights of at least 0")
    if not base.ndim:
        raise argument_error("base.shape", base.shape, "needs a last axis of outcomes")
    return normalised(minimisers(-base, among=mask("valid", valid, base)))
