"""Roots of many functions at once: by scipy in brackets, or by Newton's method if no step passes the root."""

from collections.abc import Callable

import numpy as np

from .elementary import Values

NEWTON_STEPS = 200  # More than a double root takes, at which steps only halve the distance.


def rising_root(
    function: Callable[..., np.ndarray], low: Values, high: Values, *tables: np.ndarray
) -> np.ndarray:
    """Solve function(x, *rows) = 0 to the last bits for a function that increases in x; shape (...).

    low, high: (...), finite; tables: (..., n). The function takes x of shape (k,) and the matching rows of
    the tables, (k, n). If it has one sign on the whole interval, which rounding can do to a root at an end,
    the result is the end nearer to the root.
    """
    from scipy.optimize.elementwise import find_root

    shape = np.broadcast_shapes(np.shape(low), np.shape(high), *(table.shape[:-1] for table in tables))
    ends = np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()
    lines = [
        np.broadcast_to(table, (*shape, table.shape[-1])).reshape(-1, table.shape[-1]) for table in tables
    ]

    def value(x: np.ndarray, index: np.ndarray) -> np.ndarray:
        return function(x, *(table[index] for table in lines))

    index = np.arange(ends[0].size)
    below, above = (value(end, index) for end in ends)
    # Chandrupatla's method returns nan if the signs at the ends agree.
    inner = find_root(value, ends, args=(index,)).x
    return np.where(below >= 0, ends[0], np.where(above <= 0, ends[1], inner)).reshape(shape)


def newton_root(step: Callable[[Values], Values], start: Values) -> Values:
    """Iterate Newton's steps from `start` to the last bits, if no step passes the root.

    This is the case if the function increases and is convex and start is above its root, or concave and start
    is below. Beyond the root, where only rounding can lead, `step` must be zero. Raises ArithmeticError if
    there is no convergence after 200 steps.
    """
    x = start
    for _ in range(NEWTON_STEPS):
        change = step(x)
        x = x + change
        if (np.abs(change) <= np.finfo(float).eps * np.abs(x)).all():
            return x
    raise ArithmeticError(f"Newton's method has not ended after {NEWTON_STEPS} steps")
