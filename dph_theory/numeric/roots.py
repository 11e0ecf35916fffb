"""Roots of many rising functions at once, by scipy."""

from collections.abc import Callable

import numpy as np
from scipy.optimize.elementwise import find_root

from .balls import Values


def rising_root(
    function: Callable[..., np.ndarray], low: Values, high: Values, *tables: np.ndarray
) -> np.ndarray:
    """Where function(x, *rows), which rises in x, is zero, to the last bits; shape (...).

    low, high: (...), finite; tables: (..., n). The function takes x of shape (k,) and the rows of the tables
    that belong to them, (k, n). Where it has one sign on the whole interval, which rounding can do to a root
    at an end, the answer is the end nearer to the root.
    """
    shape = np.broadcast_shapes(np.shape(low), np.shape(high), *(table.shape[:-1] for table in tables))
    ends = np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()
    lines = [
        np.broadcast_to(table, (*shape, table.shape[-1])).reshape(-1, table.shape[-1]) for table in tables
    ]

    def value(x: np.ndarray, index: np.ndarray) -> np.ndarray:
        return function(x, *(table[index] for table in lines))

    index = np.arange(ends[0].size)
    below, above = (value(end, index) for end in ends)
    # Chandrupatla's method answers nan where the signs at the ends agree.
    found = find_root(value, ends, args=(index,)).x
    return np.where(below >= 0, ends[0], np.where(above <= 0, ends[1], found)).reshape(shape)
