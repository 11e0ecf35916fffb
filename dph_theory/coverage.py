"""Coverage of answers: Pass@k, distinct correct answers, entropy and its exponential; leading axes batch.

Intervals over prompts and seeds are in `intervals`.
"""

import numpy as np

from .numeric.arrays import (
    Distribution,
    Mask,
    Scalars,
    distribution,
    first_bad,
    integers,
    mask,
    probability,
    require_common_shape,
)
from .numeric.elementary import Values, add_axes, masked, xlogy
from .support.errors import argument_error

_TERMS = 2**16  # Maximal number of Pass@k factors formed at a time.


def pass_at_k(n: Scalars, c: Scalars, k: Scalars) -> Values:
    """Unbiased estimate of Pass@k from n samples, c of them correct: 1 - C(n-c, k)/C(n, k).

    Accurate to the last digits also for small values. The cost is of order sqrt(n).

    Args:
        n: Number of samples, a whole number below 2^53.
        c: Number of correct samples, 0 <= c <= n.
        k: Number of draws, 1 <= k <= n; shapes broadcast.

    Returns:
        Estimates in [0, 1], of the broadcast shape; 1 if fewer than k samples failed.

    Raises:
        ValueError: If an argument is not a whole number in its range.

    Source: chen2021codex.
    """
    n, c, k = integers("n", n, at_least=1), integers("c", c, at_least=0), integers("k", k, at_least=1)
    require_common_shape(n=n, c=c, k=k)
    for name, value in (("k", k), ("c", c)):
        above = value > n
        if above.any():
            raise argument_error(name, first_bad(value, above), "at most n, the number of samples")
    n, c, k = np.broadcast_arrays(n, c, k)
    few, many, spare = np.minimum(c, k), np.maximum(c, k), n - c - k
    certain = spare < 0
    # All k draws fail with probability at most e^(-ck/n); for ck/n >= 40, 1 minus that rounds to 1.
    certain |= few.astype(float) * many > 40.0 * n
    # No factor is formed where the answer is 1.
    log_fail = _log_fail(np.where(certain, 0, few), many, np.where(certain, 0, spare))
    return np.where(certain, 1 + 0 * log_fail, 0 - np.expm1(log_fail))


def _log_fail(few: Values, many: Values, spare: Values) -> Values:
    """log C(n-c, k)/C(n, k) = -sum_{j=1..few} log(1 + many/(spare + j)), where {few, many} = {c, k}."""
    total, size = np.zeros(few.shape), max(1, _TERMS // max(1, few.size))
    many, spare = many[..., None].astype(float), spare[..., None].astype(float)
    for start in range(0, int(few.max(initial=0)), size):
        step = np.arange(start + 1, min(start + size, int(few.max())) + 1)
        terms = np.log1p(many / (spare + step))
        total = total - masked(terms, step <= few[..., None]).sum(axis=-1)
    return total


def exact_pass_at_k(p: Scalars, k: Scalars) -> Values:
    """Probability that at least one of k independent draws is correct: 1 - (1-p)^k.

    Pass@k of a set of prompts is the mean of this value over prompts.

    Args:
        p: Pass rate, in [0, 1].
        k: Number of draws, a whole number from 1 to 2^63; shapes broadcast.

    Returns:
        Probabilities, of the broadcast shape.

    Raises:
        ValueError: If an argument is out of range.

    Source: chen2021codex.
    """
    # k only multiplies a logarithm, so float precision suffices.
    p, k = probability("p", p), integers("k", k, at_least=1, exact=False)
    require_common_shape(p=p, k=k)
    return _hit(p, k)


def _hit(p: Values, k: Values) -> Values:
    """1 - (1-p)^k without cancellation for small p; shapes broadcast."""
    # An outcome's mass may exceed one by rounding.
    certain = p >= 1
    return np.where(certain, 1 + 0 * p, 0 - np.expm1(k * np.log1p(-np.where(certain, 0 * p, p))))


def expected_distinct_valid(q: Distribution, valid: Mask, k: Scalars) -> Values:
    """Expected number of distinct correct outcomes in k independent draws, sum_{Y1} 1 - (1-q)^k.

    Takes q and valid (..., outcomes) and whole k >= 1 (...), returns (...). Source: ours, entries
    `pass_at_k`.
    """
    q = distribution("q", q)
    valid, k = mask("valid", valid, q), integers("k", k, at_least=1)
    require_common_shape(q=q[..., 0], valid=valid[..., 0], k=k)
    hit = _hit(q, add_axes(k, 1))
    return masked(hit, valid).sum(axis=-1)


def averaged(q: Values, share: Values, first: int, second: int) -> Values:
    """T-transform: move `share` of the difference of two outcomes' masses from one to the other."""
    place = np.arange(q.shape[-1])
    moved = (share * (q[..., first] - q[..., second]))[..., None]
    return q + masked(moved, place == second) - masked(moved, place == first)


def entropy(q: Distribution) -> Values:
    """Shannon entropy -sum q log q in nats; (..., outcomes) gives (...)."""
    q = distribution("q", q)
    return -xlogy(q, q).sum(axis=-1)


def effective_number(q: Distribution) -> Values:
    """Exponential of the entropy: n if n outcomes are equally likely."""
    return np.exp(entropy(q))
