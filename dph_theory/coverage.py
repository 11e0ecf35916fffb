"""Coverage: pass@k, distinct valid outputs, entropy, effective number. Everything batches."""

import numpy as np
from flint import arb

from .numeric.arrays import (
    Distribution,
    Mask,
    Scalars,
    distribution,
    first,
    mask,
    probability,
    together,
    whole,
)
from .numeric.balls import Values, is_ball, only, trailing, xlogy
from .support.errors import argument_error


def pass_at_k(n: Scalars, c: Scalars, k: Scalars) -> Values:
    """The unbiased pass@k from n samples of which c are correct: 1 - C(n-c, k)/C(n, k).

    n, c, k are whole numbers of broadcastable shapes, 0 <= c <= n, 1 <= k <= n, else ValueError.
    Computed as 1 - prod_{i=n-c+1..n} (1 - k/i) in log space, which keeps small values exact to the last
    digits; 1 where fewer than k samples failed. Source: chen2021codex.
    """
    exact = is_ball(n, c, k)
    n, c, k = whole("n", n, at_least=1), whole("c", c, at_least=0), whole("k", k, at_least=1)
    together(n=n, c=c, k=k)
    for name, value in (("k", k), ("c", c)):
        above = value > n
        if above.any():
            raise argument_error(name, first(value, above), "at most n, the number of samples")
    n, c, k = np.broadcast_arrays(n, c, k)
    certain = n - c < k
    # Where the answer is 1, k = 0 keeps the logarithms finite.
    k = np.where(certain, 0, k)
    k, n = (_balls(k), _balls(n)) if exact else (k.astype(float), n.astype(float))
    log_fail = 0 * k
    for step in range(int(c.max(initial=0))):
        active = step < c
        log_fail = log_fail + np.where(active, np.log1p(-k / np.where(active, n - step, n + 1)), 0 * k)
    return np.where(certain, 1 + 0 * k, 0 - np.expm1(log_fail))


def _balls(whole_numbers: Values) -> Values:
    return np.asarray(np.frompyfunc(arb, 1, 1)(whole_numbers.astype(object)), dtype=object)


def exact_pass_at_k(p: Scalars, k: Scalars) -> Values:
    """The probability that one of k draws passes, 1 - (1-p)^k, for p in [0, 1] and whole k >= 1.

    Shapes broadcast; the pass@k of a prompt set is its mean over prompts. Source: chen2021codex.
    """
    p, k = probability("p", p), whole("k", k, at_least=1)
    together(p=p, k=k)
    return _hit(p, k)


def _hit(p: Values, k: Values) -> Values:
    """1 - (1-p)^k without cancellation for small p."""
    certain = np.asarray(p == 1).astype(bool)
    return np.where(certain, 1 + 0 * p, 0 - np.expm1(k * np.log1p(-np.where(certain, 0 * p, p))))


def expected_distinct_valid(q: Distribution, valid: Mask, k: Scalars) -> Values:
    """The expected number of distinct valid outcomes in k independent draws, sum_{Y1} 1 - (1-q)^k.

    q and valid (..., outcomes), whole k >= 1 of shape (...); gives (...). Source: ours, theory D2.
    """
    q = distribution("q", q)
    valid, k = mask("valid", valid, q), whole("k", k, at_least=1)
    together(q=q[..., 0], valid=valid[..., 0], k=k)
    hit = _hit(q, trailing(k, 1))
    return only(hit, valid).sum(axis=-1)


def averaged(q: Values, share: Values, first: int, second: int) -> Values:
    """The T-transform of two outcomes: that share of the difference of their masses passes between them."""
    place = np.arange(q.shape[-1])
    moved = (share * (q[..., first] - q[..., second]))[..., None]
    return q + only(moved, place == second) - only(moved, place == first)


def entropy(q: Distribution) -> Values:
    """The Shannon entropy in nats, -sum q log q; shapes (..., outcomes) give (...)."""
    q = distribution("q", q)
    return -xlogy(q, q).sum(axis=-1)


def effective_number(q: Distribution) -> Values:
    """The effective number of outcomes, e^entropy: n for the uniform law on n outcomes."""
    return np.exp(entropy(q))


def support_size(q: Distribution) -> Values:
    """The number of outcomes with positive mass; shapes (..., outcomes) give (...)."""
    return (distribution("q", q) > 0).astype(bool).sum(axis=-1)
