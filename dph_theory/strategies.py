"""Prompts that share a policy over strategies: how training by expected reward moves pass@k.

A prompt of type t comes with probability rho_t, the policy draws strategy s with probability q_s whatever the
type, and then succeeds with probability c_ts, so that p_t = sum_s q_s c_ts. Shapes: q (..., strategies), rho
(..., types), success c (..., types, strategies), whole k and gain (...). Source: ours, theory D3.
"""

import numpy as np

from .coverage import exact_pass_at_k
from .numeric.arrays import Distribution, Scalars, distribution, finite, probability, together
from .numeric.elementary import Values, highest, lowest, normalised, trailing
from .support.errors import argument_error


def pass_rates(q: Values, success: Values) -> Values:
    """p_t = sum_s q_s c_ts, the pass rate on each type; q (..., 1, strategies), or a policy per type."""
    rates = (q * success).sum(axis=-1)
    # Masses that sum to one within rounding may exceed it by an ulp.
    return lowest(np.stack([rates, 1 + 0 * rates], axis=-1))


def mean_pass_at_k(rates: Values, rho: Values, k: Scalars) -> Values:
    """sum_t rho_t (1 - (1-p_t)^k), shape (...), from the pass rates (..., types)."""
    return (rho * exact_pass_at_k(rates, trailing(k, 1))).sum(axis=-1)


def strategy_rewards(rho: Values, success: Values) -> Values:
    """w_s = sum_t rho_t c_ts, the expected reward of each strategy, (..., strategies)."""
    return (rho[..., None] * success).sum(axis=-2)


def trained(q: Values, reward: Values, gain: Values) -> Values:
    """The policy after training by expected reward for that long: q e^{gain reward}, normalised.

    The natural-gradient flow of E_q[reward] (A3), and the optimum at KL weight 1/gain (A4).
    """
    return normalised(q * np.exp(trailing(gain, 1) * (reward - trailing(highest(reward), 1))))


def _checked(q: Distribution, rho: Scalars, success: Scalars) -> tuple[Values, Values, Values]:
    """The policy, the types' weights and the success rates, if they are such and fit each other."""
    q, rho, success = distribution("q", q), distribution("rho", rho), probability("success", success)
    wanted = (rho.shape[-1], q.shape[-1])
    if success.shape[-2:] != wanted:
        raise argument_error("success.shape", success.shape, f"must end in (types, strategies) = {wanted}")
    together(q=q[..., 0], rho=rho[..., 0], success=success[..., 0, 0])
    return q, rho, success


def shared_pass_at_k(q: Distribution, rho: Scalars, success: Scalars, k: Scalars) -> Values:
    """The pass@k of the shared policy, averaged over prompt types, shape (...).

    Raises ValueError for weights that are no laws, rates outside [0, 1] and shapes that do not fit.
    """
    q, rho, success = _checked(q, rho, success)
    return mean_pass_at_k(pass_rates(q[..., None, :], success), rho, k)


def trained_pass_at_k(q: Distribution, rho: Scalars, success: Scalars, k: Scalars, gain: Scalars) -> Values:
    """The same after training by expected reward for the length `gain`, a finite number of shape (...)."""
    q, rho, success = _checked(q, rho, success)
    gain = finite("gain", gain)
    together(q=q[..., 0], gain=gain)
    return shared_pass_at_k(trained(q, strategy_rewards(rho, success), gain), rho, success, k)
