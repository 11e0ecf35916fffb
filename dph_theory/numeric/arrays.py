"""Shape aliases for annotations, and the validators that every public function shares.

A validator returns the value as an array (float64, or balls), or raises a ValueError that names the
argument, the offending value and what is allowed.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from flint import arb
from jaxtyping import Shaped

from ..support.errors import argument_error
from .balls import as_numbers, is_ball

SUM_TOLERANCE = 1e-8
"""How far a distribution's sum may be from one."""

Nested: TypeAlias = Sequence[Any]
Scalars: TypeAlias = Shaped[np.ndarray, "..."] | np.generic | float | int | arb | Nested
"""One number, or an array of them with any batch shape."""
Distribution: TypeAlias = Shaped[np.ndarray, "*#batch outcomes"] | Nested
"""Probabilities over the last axis."""
Mask: TypeAlias = Shaped[np.ndarray, "*#batch outcomes"] | Nested
"""A verifier v: true (or 1) where an outcome is valid."""
Array: TypeAlias = np.ndarray | Nested


def first(array: Any, bad: Any) -> Any:
    """The first offending entry, as a plain number."""
    array, bad = np.broadcast_arrays(array, bad)
    entry = array[bad].ravel()[0]
    return entry.item() if isinstance(entry, np.generic) else entry


def numbers(name: str, value: Any) -> np.ndarray:
    """Numbers without nan."""
    try:
        array = as_numbers(value)
    except (TypeError, ValueError) as error:
        raise argument_error(name, value, "an array of numbers") from error
    if not is_ball(array) and np.isnan(array).any():
        raise argument_error(name, float("nan"), "numbers only, no nan")
    return array


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> np.ndarray:
    """Real numbers in an interval whose ends are given by the keywords (`above`/`below` are strict)."""
    array = numbers(name, value)
    bad = np.zeros(array.shape, dtype=bool)
    for bound, compare in (
        (above, np.less_equal),
        (below, np.greater_equal),
        (at_least, np.less),
        (at_most, np.greater),
    ):
        if bound is not None:
            bad |= compare(array, bound).astype(bool)
    if bad.any():
        left = f"({above}" if above is not None else f"[{at_least}" if at_least is not None else "(-inf"
        right = f"{below})" if below is not None else f"{at_most}]" if at_most is not None else "inf)"
        raise argument_error(name, first(array, bad), f"every value must lie in {left}, {right}")
    return array


def positive(name: str, value: Any) -> np.ndarray:
    """Finite numbers above zero."""
    return real(name, value, above=0, below=np.inf)


def rate(name: str, value: Any) -> np.ndarray:
    """Probabilities in the open interval (0, 1)."""
    return real(name, value, above=0, below=1)


def probability(name: str, value: Any) -> np.ndarray:
    """Probabilities in the closed interval [0, 1]."""
    return real(name, value, at_least=0, at_most=1)


def whole(name: str, value: Any, *, at_least: int) -> np.ndarray:
    """Whole numbers not below a bound, as int64; balls must be exact integers."""
    array = real(name, value, at_least=at_least)
    balls = is_ball(array)
    integral = np.frompyfunc(lambda x: x.is_integer(), 1, 1)(array) if balls else np.floor(array) == array
    bad = ~np.asarray(integral).astype(bool)
    if bad.any():
        raise argument_error(name, first(array, bad), f"whole numbers, at least {at_least}")
    if balls:
        array = np.asarray(np.frompyfunc(lambda x: int(x.unique_fmpz()), 1, 1)(array))
    return array.astype(np.int64)


def distribution(name: str, value: Any) -> np.ndarray:
    """Probabilities over the last axis: non-negative, no nan, summing to one within 1e-8."""
    array = numbers(name, value)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise argument_error(name, value, "needs a last axis of outcomes")
    negative = np.asarray(array < 0).astype(bool)
    if negative.any():
        raise argument_error(name, first(array, negative), "probabilities are not negative")
    excess = array.sum(axis=-1) - 1
    off = np.asarray(abs(excess) > SUM_TOLERANCE).astype(bool)
    if off.any():
        by = float(first(excess, off))
        index = np.argwhere(off)[0]
        where = f" at batch index {tuple(map(int, index))}" if index.size else ""
        raise ValueError(
            f"{name} sums to {1 + by:.17g}{where}, off by {by:+.3g}: "
            f"probabilities must sum to one within {SUM_TOLERANCE:g}"
        )
    return array


def mask(name: str, value: Any, like: np.ndarray, *, both: bool = False) -> np.ndarray:
    """A boolean verifier over the outcomes of `like`, with at least one valid outcome.

    With `both`, an invalid outcome is required too.
    """
    array = np.asarray(value)
    if array.dtype != bool:
        if not np.isin(array, (0, 1)).all():
            raise argument_error(name, value, "only booleans, or zeros and ones")
        array = array.astype(bool)
    if array.ndim == 0 or array.shape[-1] != like.shape[-1]:
        raise argument_error(
            f"{name}.shape", array.shape, f"the last axis must have {like.shape[-1]} outcomes"
        )
    if not array.any(axis=-1).all():
        raise argument_error(name, value, "at least one outcome must be valid")
    if both and array.all(axis=-1).any():
        raise argument_error(name, value, "at least one outcome must be invalid")
    return array


def together(**arrays: np.ndarray) -> tuple[int, ...]:
    """The common broadcast shape, or an error that lists the shapes that do not fit."""
    try:
        return np.broadcast_shapes(*(np.shape(a) for a in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(a)}" for name, a in arrays.items())
        raise ValueError(f"shapes do not fit: {shapes}; they must broadcast together") from None
