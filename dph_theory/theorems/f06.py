"""F6. PKPO's weights.

PKPO's weights of a sample, k/n if correct and (k/n) rho(n-1, c, k-1) if not, are unbiased for the gradient
of pass@k.
"""

from collections.abc import Callable
from math import comb

import numpy as np

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.theorem import neighbour, theorem

CASES = ((4, 2), (6, 3), (8, 8))
"""Samples n and the k of pass@k."""


def rho(n: int, c: int, k: int) -> tuple[int, int]:
    """The unbiased estimate of pass@k from c correct of n, as a fraction."""
    return comb(n, k) - comb(n - c, k), comb(n, k)


def expected_gradient(validity: Values) -> Values:
    """E[sum_i w_i d log P(v_i)/dV], w = k/n if correct and (k/n) rho(n-1, c, k-1) if not."""
    return _expected(validity, lambda n, c, k: rho(n - 1, c, k - 1))


def _expected(validity: Values, estimate: Callable[[int, int, int], tuple[int, int]]) -> Values:
    one, means = 1 + 0 * validity, []
    for n, k in CASES:
        mean = 0 * one
        for c in range(n + 1):
            top, bottom = estimate(n, c, k) if c < n else (0, 1)
            # The scores 1/V and -1/(1-V) cancel a factor of the binomial probability.
            if c:
                mean = mean + comb(n, c) * validity ** (c - 1) * (1 - validity) ** (n - c) * c * k / n
            if c < n:
                weight = one * (n - c) * k * top / (n * bottom)
                mean = mean - comb(n, c) * validity**c * (1 - validity) ** (n - c - 1) * weight
        means.append(mean)
    return np.stack(means, axis=-1)


def slope(validity: Values) -> Values:
    """d/dV of 1 - (1-V)^k."""
    return np.stack([k * (1 - validity) ** (k - 1) for _, k in CASES], axis=-1)


PKPO = theorem(
    "F6.pkpo",
    "PKPO's weights, k/n if correct and (k/n) rho(n-1,c,k-1) if not, are unbiased for grad pass@k",
    statement=r"E\textstyle\sum_i w_i \nabla\log\pi(y_i) = \nabla\,\mathrm{pass@}k,\quad"
    r" w = \tfrac kn \text{ or } \tfrac kn \rho(n-1, c, k-1)",
    source=Source("walder2025pkpo"),
    on=chart(validity=rates(low=1e-2, high=1e-2)),
    equal=(expected_gradient, slope),
    examples=(example(validity=".25", value="1.5 1.6875 1.06787109375"),),
    false=(
        neighbour("rho(n,c,k)", lhs=lambda validity: _expected(validity, lambda n, c, k: rho(n, c, k))),
        neighbour(
            "rho(n-1,c,k)",
            lhs=lambda validity: _expected(validity, lambda n, c, k: rho(n - 1, c, min(k, n - 1))),
        ),
    ),
)
