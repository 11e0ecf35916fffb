"""Elementary functions in two arithmetics: float64 arrays, and object arrays of `arb` balls.

numpy's own ufuncs already work on object arrays of balls (they call `ball.log()` and so on), so one
formula serves both arithmetics. Here are only the few functions where float64 needs care against
overflow or cancellation and where balls need none.
"""

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb, arb_mat, ctx

if TYPE_CHECKING:
    Values: TypeAlias = np.ndarray
else:
    # Without batch axes numpy hands back scalars, and an object array its bare element.
    Values: TypeAlias = np.ndarray | np.generic | arb | float
"""Floats, balls, or the booleans of a mask, of any batch shape; batch axes lead."""

ZERO: Any = arb(0)
ONE: Any = arb(1)
NAN: Any = arb.nan()
"""Exact balls, to fill in where a formula is not to be evaluated."""
precision = ctx.workprec
"""Context in which balls are computed with the given number of bits: `with precision(bits):`."""
_SERIES_BELOW = 0.5
"""Half-width of the interval around 0 where e^x - 1 - x is summed as a series."""
_SERIES = tuple(1 / math.factorial(k) for k in range(16, 1, -1))
"""Its coefficients 1/k!, the highest power's first."""
_IN_FLOAT32 = 8
"""How many of them float32 can tell from all: up to x^9, whose successor is 2e-9 of the sum."""


def is_ball(*values: Any) -> bool:
    """Whether any of the arrays holds balls rather than floats."""
    return any([np.asarray(value).dtype == object for value in values])  # noqa: C419 - faster than a generator


def as_numbers(value: Any) -> Values:
    """The value as an array of float64, or of balls if it holds balls; TypeError if it is complex."""
    array = np.asarray(value)
    # Whole numbers that no machine integer holds, fractions and decimals are objects too.
    if array.dtype.kind == "c":
        raise TypeError("complex numbers are not ordered")
    balls = array.dtype == object and any(isinstance(entry, arb) for entry in array.flat)
    return array if balls else array.astype(np.float64, copy=False)


def trailing(value: Any, axes: int) -> Values:
    """The value with that many axes of length one appended, to broadcast a batch against its outcomes."""
    return np.asarray(value)[(..., *(None,) * axes)]


def only(values: Values, where: Values) -> Values:
    """The values where the condition holds, zero elsewhere."""
    return np.where(where, values, 0 * values)


def normalised(weights: Values) -> Values:
    """The laws with these weights over the last axis."""
    return weights / weights.sum(axis=-1, keepdims=True)


def minimisers(values: Values, among: Any = True) -> Values:
    """Which entries of the last axis, of those allowed, are least, as a mask; several if tied.

    Of balls that overlap neither is taken to exceed the other.
    """
    among = np.broadcast_to(among, values.shape)
    beaten = (values[..., :, None] > values[..., None, :]) & among[..., None, :]
    return among & ~np.any(beaten, axis=-1)


def xlogy(x: Values, y: Values) -> Values:
    """The product x log y, with 0 log y = 0 for every y."""
    if not is_ball(x, y):
        from scipy.special import xlogy as in_floats

        return in_floats(x, y)
    x, y = np.broadcast_arrays(x, y)
    zero = x == 0
    return np.where(zero, ZERO, x * np.log(np.where(zero, ONE, y)))


def logit(p: Values) -> Values:
    """The log odds log(p/(1-p)), accurate for p down to the smallest float."""
    return np.log(p) - np.log1p(-p)


def expit(x: Values) -> Values:
    """1/(1+e^-x), the inverse of `logit`."""
    if is_ball(x):
        return 1 / (1 + np.exp(-x))
    from scipy.special import expit as in_floats

    return in_floats(x)


def log_ratio(p: Values, q: Values) -> Values:
    """The log ratio log(p/q) of float64 masses: -inf where p = 0 < q, +inf where q = 0 < p, 0 if both are.

    Near p = q the difference p - q is exact in floating point, so log1p((p-q)/q) keeps the relative
    accuracy that log p - log q loses.
    """
    near = np.abs(p - q) <= 0.5 * q
    close = np.log1p(np.where(near, p - q, 0.0) / np.where(near & (q > 0), q, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.log(p) - np.log(q)
    return np.where((p == 0) & (q == 0), 0.0, np.where(near, close, far))


def exp_remainder(x: Any, xp: Any = np) -> Any:
    """The remainder e^x - 1 - x without cancellation near 0; `xp` is the array namespace, numpy or torch."""
    small = xp.abs(x) < _SERIES_BELOW
    t = xp.where(small, x, 0.0)
    first, *others = _SERIES if x.dtype.itemsize > 4 else _SERIES[-_IN_FLOAT32:]
    tail = first
    for coefficient in others:
        tail = tail * t + coefficient
    # Where e^x is infinite, so is the remainder, though x be too.
    return xp.where(small, t * t * tail, xp.expm1(x) - xp.clip(x, None, 1000.0))


def solve(matrix: Values, vector: Values) -> Values:
    """The solution x of matrix @ x = vector: shapes (..., n, n) and (..., n) give (..., n).

    Raises ZeroDivisionError if balls are too wide to tell the matrix from a singular one.
    """
    if not is_ball(matrix, vector):
        return np.linalg.solve(matrix, vector[..., None])[..., 0]
    batch = np.broadcast_shapes(matrix.shape[:-2], vector.shape[:-1])
    n = vector.shape[-1]
    matrix = np.broadcast_to(matrix, (*batch, n, n))
    vector = np.broadcast_to(vector, (*batch, n))
    solution = np.empty((*batch, n), dtype=object)
    for index in np.ndindex(*batch):
        right = arb_mat(n, 1, [arb(v) for v in vector[index]])
        left = arb_mat(n, n, [arb(v) for v in matrix[index].ravel()])
        solution[index] = [left.solve(right)[i, 0] for i in range(n)]
    return solution


def highest(x: Values, axis: int | tuple[int, ...] = -1) -> Values:
    """The maximum along the axes; for balls, the ball of the maximum (not the larger of two midpoints)."""
    if not is_ball(x):
        return np.max(x, axis=axis)
    axes = axis if isinstance(axis, tuple) else (axis,)
    for single in sorted((a % x.ndim for a in axes), reverse=True):
        x = np.frompyfunc(lambda a, b: a.max(b), 2, 1).reduce(x, axis=single)
    return np.asarray(x, dtype=object)


def lowest(x: Values) -> Values:
    """The minimum along the last axis, as `highest`."""
    return -highest(-x)
