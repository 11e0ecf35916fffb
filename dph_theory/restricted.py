"""Policy families that lack the filtered policy: the member that KL control selects at each beta.

A family has shape (..., members, outcomes); its member pi_b minimises KL(pi || p_b), where p_b is the tilted
policy. As beta -> 0 the pass rate decides first and the KL cost second: if Diracs are the only fully valid
members, the limit is the Dirac on the mode of a in Y1, reached by a jump at a finite beta. Selections are
masks over members, so that ties are visible. Source: dymetman2026binary, entries `misspecification`.
"""

import numpy as np

from .binary_reward import pass_rate
from .divergences import REVERSE_KL
from .numeric.arrays import (
    Array,
    Distribution,
    Mask,
    Scalars,
    distribution,
    mask,
    positive,
    require_common_shape,
)
from .numeric.elementary import Values, add_axes, masked, minimisers, xlogy
from .support.errors import argument_error


def shared_value(members: Values, values: Values) -> Values:
    """Value shared by the selected members: two arrays (..., members) give (...)."""
    return masked(values, members).sum(axis=-1) / members.sum(axis=-1)


def pass_rate_and_cost(family: Values, base: Values, valid: Values) -> tuple[Values, Values]:
    """Pass rate V(pi) = pi(Y1) and cost K(pi) = KL(pi || a) of each member, both (..., members)."""
    return pass_rate(family, valid[..., None, :]), REVERSE_KL(family, base[..., None, :])


def most_valid(V: Values, K: Values) -> Values:
    """Mask of the members with the largest pass rate and, among these, the least cost."""
    return minimisers(K, among=minimisers(-V))


def _checked_family(family: Array, base: Distribution, valid: Mask) -> tuple[Values, Values, Values]:
    family, base = distribution("family", family), distribution("base", base)
    valid = mask("valid", valid, base)
    if family.ndim < 2 or family.shape[-1] != base.shape[-1]:
        allowed = f"must be (..., members, {base.shape[-1]}), each member over the base's outcomes"
        raise argument_error("family.shape", family.shape, allowed)
    require_common_shape(family=family[..., 0, 0], base=base[..., 0], valid=valid[..., 0])
    return family, base, valid


def projection(family: Array, base: Distribution, valid: Mask, beta: Scalars) -> Values:
    """Members of a policy family that minimise KL(pi || p_b), where p_b is the tilted policy.

    Args:
        family: Probabilities of the members, shape (..., members, outcomes).
        base: Probabilities of the base policy, shape (..., outcomes).
        valid: 1 where an outcome is correct, same shape as `base`.
        beta: KL coefficient in units of reward, positive, shape (...).

    Returns:
        Mask of the minimisers, shape (..., members).

    Raises:
        ValueError: If an argument is not a distribution, shapes do not fit, or `beta` is not positive.

    Source: dymetman2026binary, entries `misspecification`.
    """
    family, base, valid = _checked_family(family, base, valid)
    beta = positive("beta", beta)
    require_common_shape(base=base[..., 0], beta=beta)
    # KL(pi || p_b) minus log Z_b - 1/beta, which is equal for all members; in log space, because p_b
    # underflows on Y0.
    with np.errstate(divide="ignore"):
        log_target = np.log(base) - np.where(valid, 0.0, add_axes(1 / beta, 1))
    paid = family * np.where(family > 0, log_target[..., None, :], 0.0)
    return minimisers((xlogy(family, family) - paid).sum(axis=-1))


def critical_beta(family: Array, base: Distribution, valid: Mask) -> Values:
    """Largest beta below which the member of highest pass rate minimises KL(pi || p_b).

    This is the least (V* - V)/(K* - K) over cheaper members, V a pass rate and K a KL to the base.

    Args:
        family: Probabilities of the members, shape (..., members, outcomes).
        base: Probabilities of the base policy, shape (..., outcomes).
        valid: 1 where an outcome is correct, same shape as `base`.

    Returns:
        beta, shape (...); inf if no member is cheaper, so that the member wins at every beta.

    Raises:
        ValueError: As in `projection`.
    """
    family, base, valid = _checked_family(family, base, valid)
    V, K = pass_rate_and_cost(family, base, valid)
    best = most_valid(V, K)
    lost, saved = (add_axes(shared_value(best, x), 1) - x for x in (V, K))
    rival = ~best & (saved > 0)
    ratio = np.where(rival, lost, 0.0) / np.where(rival, saved, 1.0)
    return np.min(np.where(rival, ratio, np.inf), axis=-1)
