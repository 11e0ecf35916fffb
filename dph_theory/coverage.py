"""Coverage: pass@k, distinct valid outputs, entropy, effective number. Everything batches."""

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

_TERMS = 2**16
"""The most factors of pass@k formed at a time."""


def pass_at_k(n: Scalars, c: Scalars, k: Scalars) -> Values:
    """The unbiased pass@k from n samples of which c are correct: 1 - C(n-c, k)/C(n, k).

    n, c, k are whole numbers below 2^53 of broadcastable shapes, 0 <= c <= n, 1 <= k <= n, else ValueError.
    Small values are exact to the last digits; 1 where fewer than k samples failed. Takes the order of
    sqrt(n) steps. Source: chen2021codex.
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
    # The chance that all k fail is at most e^(-ck/n): from 40 on, 1 less it rounds to 1.
    certain |= few.astype(float) * many > 40.0 * n
    # Where the answer is 1, no factor is formed.
    log_fail = _log_fail(np.where(certain, 0, few), many, np.where(certain, 0, spare))
    return np.where(certain, 1 + 0 * log_fail, 0 - np.expm1(log_fail))


def _log_fail(few: Values, many: Values, spare: Values) -> Values:
    """log C(n-c, k)/C(n, k) = -sum_{j=1..few} log(1 + many/(spare + j)), in which c and k are alike."""
    total, size = np.zeros(few.shape), max(1, _TERMS // max(1, few.size))
    many, spare = many[..., None].astype(float), spare[..., None].astype(float)
    for start in range(0, int(few.max(initial=0)), size):
        step = np.arange(start + 1, min(start + size, int(few.max())) + 1)
        terms = np.log1p(many / (spare + step))
        total = total - masked(terms, step <= few[..., None]).sum(axis=-1)
    return total


def exact_pass_at_k(p: Scalars, k: Scalars) -> Values:
    """The probability that one of k draws passes, 1 - (1-p)^k, for p in [0, 1] and whole k from 1 to 2^63.

    Shapes broadcast; the pass@k of a prompt set is its mean over prompts. Source: chen2021codex.
    """
    # k only multiplies a logarithm: it needs no more digits than a float has.
    p, k = probability("p", p), integers("k", k, at_least=1, exact=False)
    require_common_shape(p=p, k=k)
    return _hit(p, k)


def _hit(p: Values, k: Values) -> Values:
    """1 - (1-p)^k without cancellation for small p."""
    # An outcome's mass may exceed one by rounding.
    certain = p >= 1
    return np.where(certain, 1 + 0 * p, 0 - np.expm1(k * np.log1p(-np.where(certain, 0 * p, p))))


def expected_distinct_valid(q: Distribution, valid: Mask, k: Scalars) -> Values:
    """The expected number of distinct valid outcomes in k independent draws, sum_{Y1} 1 - (1-q)^k.

    q and valid (..., outcomes), whole k >= 1 of shape (...); gives (...). Source: ours, entries `pass_at_k`.
    """
    q = distribution("q", q)
    valid, k = mask("valid", valid, q), integers("k", k, at_least=1)
    require_common_shape(q=q[..., 0], valid=valid[..., 0], k=k)
    hit = _hit(q, add_axes(k, 1))
    return masked(hit, valid).sum(axis=-1)


def averaged(q: Values, share: Values, first: int, second: int) -> Values:
    """The T-transform of two outcomes: that share of the difference of their masses passes between them."""
    place = np.arange(q.shape[-1])
    moved = (share * (q[..., first] - q[..., second]))[..., None]
    return q + masked(moved, place == second) - masked(moved, place == first)


def entropy(q: Distribution) -> Values:
    """The Shannon entropy in nats, -sum q log q; shapes (..., outcomes) give (...)."""
    q = distribution("q", q)
    return -xlogy(q, q).sum(axis=-1)


def effective_number(q: Distribution) -> Values:
    """The effective number of outcomes, e^entropy: n where n outcomes are equally likely."""
    return np.exp(entropy(q))
