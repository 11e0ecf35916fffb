"""Policy families that cannot hold the filtered model: which member KL control chooses at each beta.

A family is (..., members, outcomes); its member pi_b minimises KL(pi || p_b), p_b the tilted model. Small
beta looks at the pass rate first, then at cost: if Diracs are the only fully valid members, the limit is the
Dirac on the mode of a in Y1, reached by a jump at a finite beta. Source: dymetman2026binary, entries
`misspecification`. Choices are masks of members, so that ties show.
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
    """The value that the chosen members share, (...) from two (..., members)."""
    return masked(values, members).sum(axis=-1) / members.sum(axis=-1)


def pass_rate_and_cost(family: Values, base: Values, valid: Values) -> tuple[Values, Values]:
    """V(pi) = pi(Y1) and K(pi) = KL(pi || a) of each member, both (..., members)."""
    return pass_rate(family, valid[..., None, :]), REVERSE_KL(family, base[..., None, :])


def most_valid(V: Values, K: Values) -> Values:
    """The member of largest pass rate V*, of these the one of least cost K*."""
    return minimisers(K, among=minimisers(-V))


def _checked_family(family: Array, base: Distribution, valid: Mask) -> tuple[Values, Values, Values]:
    """The members (..., members, outcomes), the base and the verifier, if they fit each other."""
    family, base = distribution("family", family), distribution("base", base)
    valid = mask("valid", valid, base)
    if family.ndim < 2 or family.shape[-1] != base.shape[-1]:
        allowed = f"must be (..., members, {base.shape[-1]}), each member over the base's outcomes"
        raise argument_error("family.shape", family.shape, allowed)
    require_common_shape(family=family[..., 0, 0], base=base[..., 0], valid=valid[..., 0])
    return family, base, valid


def projection(family: Array, base: Distribution, valid: Mask, beta: Scalars) -> Values:
    """The member pi_b that minimises KL(pi || p_b) over the family, as a mask (..., members).

    family (..., members, outcomes), base and valid (..., outcomes), beta > 0 (...). Raises ValueError
    for what are no distributions, for shapes that do not fit, and for another beta.
    """
    family, base, valid = _checked_family(family, base, valid)
    beta = positive("beta", beta)
    require_common_shape(base=base[..., 0], beta=beta)
    # KL(pi || p_b) less log Z_b - 1/beta, the same for all members; in log space, since p_b underflows on Y0.
    with np.errstate(divide="ignore"):
        log_target = np.log(base) - np.where(valid, 0.0, add_axes(1 / beta, 1))
    paid = family * np.where(family > 0, log_target[..., None, :], 0.0)
    return minimisers((xlogy(family, family) - paid).sum(axis=-1))


def critical_beta(family: Array, base: Distribution, valid: Mask) -> Values:
    """The beta below which the most valid member wins: the least (V* - V)/(K* - K) over cheaper members.

    Shapes and errors as in `projection`; gives (...), inf where no member is cheaper: it wins at every beta.
    """
    family, base, valid = _checked_family(family, base, valid)
    V, K = pass_rate_and_cost(family, base, valid)
    best = most_valid(V, K)
    lost, saved = (add_axes(shared_value(best, x), 1) - x for x in (V, K))
    rival = ~best & (saved > 0)
    ratio = np.where(rival, lost, 0.0) / np.where(rival, saved, 1.0)
    return np.min(np.where(rival, ratio, np.inf), axis=-1)
