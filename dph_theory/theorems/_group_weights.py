"""The weight alpha_G(V) that a group-relative advantage gives the gradient of a pass rate V, by counting."""

from collections.abc import Iterable
from math import comb

import numpy as np

from ..numeric.elementary import Values


def gains(size: int, scale: str) -> Values:
    """A(valid) - A(invalid) when k of the others are valid, k = 0 .. G-1; A = 0 where all rewards agree."""
    k = np.arange(1, size)
    spread = k / size if scale == "mean" else np.sqrt(k * (size - k) / (size * (size - 1)))
    of_valid, of_invalid = np.zeros(size + 1), np.zeros(size + 1)
    of_valid[1:-1], of_invalid[1:-1] = (1 - k / size) / spread, -k / size / spread
    return of_valid[1:] - of_invalid[:-1]


def expected_weight(size: int, validity: Values, scale: str = "std") -> Values:
    """alpha_G(V): the gains averaged over the others' successes, Binomial(G-1, V)."""
    total = 0 * validity
    for k, gain in enumerate(gains(size, scale)):
        total = total + comb(size - 1, k) * validity**k * (1 - validity) ** (size - 1 - k) * gain
    return total


def expected_weights(sizes: Iterable[int], validity: Values, scale: str = "std") -> Values:
    """The same of groups of several sizes, along a last axis."""
    return np.stack([expected_weight(size, validity, scale) for size in sizes], axis=-1)
