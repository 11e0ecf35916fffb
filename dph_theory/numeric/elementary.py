"""Elementary functions where float64 needs care against overflow or cancellation."""

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    Values: TypeAlias = np.ndarray
else:
    # Without batch axes numpy returns scalars, and an object array its bare element.
    Values: TypeAlias = np.ndarray | np.generic | float
"""Floats, or the booleans of a mask, of any batch shape; batch axes lead."""

_SERIES_BELOW = 0.5  # Half-width of the interval around 0 where e^x - 1 - x is summed as a series.
# Coefficients 1/k! of that series, from the highest power.
_SERIES = tuple(1 / math.factorial(k) for k in range(16, 1, -1))
_IN_FLOAT32 = 8  # Number of terms that matter in float32: up to x^9, whose successor is 2e-9 of the sum.


def add_axes(value: Any, axes: int) -> Values:
    """Append that many axes of length one, to broadcast a batch against its outcomes."""
    return np.asarray(value)[(..., *(None,) * axes)]


def masked(values: Values, where: Values) -> Values:
    """Set the values to zero where the condition is false."""
    return np.where(where, values, 0.0)


def normalised(weights: Values) -> Values:
    """Normalise weights to distributions over the last axis."""
    return weights / weights.sum(axis=-1, keepdims=True)


def minimisers(values: Values, among: Any = True) -> Values:
    """Mask of the smallest entries on the last axis among those of the mask `among`; several if tied."""
    among = np.broadcast_to(among, values.shape)
    beaten = (values[..., :, None] > values[..., None, :]) & among[..., None, :]
    return among & ~np.any(beaten, axis=-1)


def expit(x: Values) -> Values:
    """Logistic function 1/(1 + e^-x), elementwise."""
    from scipy import special  # Importing scipy takes a quarter of a second, and few commands need it.

    return special.expit(x)


def xlogy(x: Values, y: Values) -> Values:
    """x log y, elementwise; 0 if x is 0."""
    from scipy import special

    return special.xlogy(x, y)


def logit(p: Values) -> Values:
    """Log odds log(p/(1-p)), accurate for p down to the smallest float."""
    return np.log(p) - np.log1p(-p)


def log_ratio(p: Values, q: Values) -> Values:
    """log(p/q) of float64 masses: -inf if p = 0 < q, +inf if q = 0 < p, 0 if both are 0.

    Near p = q the difference p - q is exact in floating point, so log1p((p-q)/q) has the relative accuracy
    that log p - log q loses.
    """
    is_near = np.abs(p - q) <= 0.5 * q
    close = np.log1p(np.where(is_near, p - q, 0.0) / np.where(is_near & (q > 0), q, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.log(p) - np.log(q)
    return np.where((p == 0) & (q == 0), 0.0, np.where(is_near, close, apart))


def exp_remainder(x: Any, xp: Any = np) -> Any:
    """e^x - 1 - x without cancellation near 0; `xp` is the array namespace, numpy or torch."""
    small = xp.abs(x) < _SERIES_BELOW
    t = xp.where(small, x, 0.0)
    first, *lower_powers = _SERIES if x.dtype.itemsize > 4 else _SERIES[-_IN_FLOAT32:]
    tail = first
    for coefficient in lower_powers:
        tail = tail * t + coefficient
    # The remainder is infinite if e^x is, even at infinite x.
    return xp.where(small, t * t * tail, xp.expm1(x) - xp.clip(x, None, 1000.0))
