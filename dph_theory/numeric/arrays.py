"""Shape aliases for annotations, and the validators that every public function shares.

A validator returns the value as an array of float64, or raises a ValueError that names the argument, the
offending value and the allowed values.
"""

from collections.abc import Sequence
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Shaped

from ..support.errors import argument_error

SUM_TOLERANCE = 1e-8  # Tolerance of a distribution's sum, and of a probability above one.
_SUM_TOLERANCE_FLOAT32 = 2e-5  # For float32: more than the error of a softmax over 150 000 outcomes.
_WHOLE_BELOW = 2**53  # Beyond it float64 skips whole numbers.
_LARGEST_WHOLE = 2**63  # Above the range of int64.

Nested: TypeAlias = Sequence[Any]
# One number, or an array of any batch shape.
Scalars: TypeAlias = Shaped[np.ndarray, "..."] | np.generic | float | int | Nested
Distribution: TypeAlias = Shaped[np.ndarray, "*#batch outcomes"] | Nested  # Probabilities over the last axis.
# A verifier v: true (or 1) at valid outcomes.
Mask: TypeAlias = Shaped[np.ndarray, "*#batch outcomes"] | Nested
Array: TypeAlias = np.ndarray | Nested


def as_numbers(value: Any) -> np.ndarray:
    """Convert the value to a float64 array; TypeError if it is complex, text or dates."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise TypeError("complex numbers are not ordered")
    # Integers too large for the machine, fractions and decimals are objects too.
    of_objects = array.dtype.kind == "O"
    if not (all(map(is_number, array.flat)) if of_objects else array.dtype.kind in "biuf"):
        raise TypeError("text and dates are not numbers")
    return array.astype(np.float64, copy=False)


def is_number(entry: Any, kind: type = Number) -> bool:
    """True if the entry is a number of that kind of the module `numbers`; durations are not."""
    return isinstance(entry, kind | np.bool_) and not isinstance(entry, np.timedelta64)


def first_bad(array: Any, bad: Any) -> Any:
    """First entry of `array` at which the mask `bad` is true, as a plain number."""
    array, bad = np.broadcast_arrays(array, bad)
    entry = array[bad].ravel()[0]
    return entry.item() if isinstance(entry, np.generic) else entry


def numbers(name: str, value: Any) -> np.ndarray:
    """Require numbers without nan."""
    try:
        array = as_numbers(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise argument_error(name, value, "an array of numbers") from error
    if np.isnan(array).any():
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
    """Require real numbers in an interval given by the keywords (`above` and `below` are strict)."""
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
        raise argument_error(name, first_bad(array, bad), f"every value must lie in {left}, {right}")
    return array


def finite(name: str, value: Any) -> np.ndarray:
    """Require finite numbers."""
    return real(name, value, above=-np.inf, below=np.inf)


def positive(name: str, value: Any) -> np.ndarray:
    """Require finite numbers above zero."""
    return real(name, value, above=0, below=np.inf)


def open_rate(name: str, value: Any) -> np.ndarray:
    """Require probabilities in the open interval (0, 1)."""
    return real(name, value, above=0, below=1)


def scalar(name: str, array: np.ndarray) -> float:
    """Return the single number of a checked array."""
    if array.ndim:
        raise argument_error(name, array, "one number")
    return float(array)


def probability(name: str, value: Any) -> np.ndarray:
    """Require probabilities in [0, 1]; values above one by rounding become one."""
    array = numbers(name, value)
    if (array > 1).any():
        array = np.where(array <= 1 + _tolerance(value), np.minimum(array, 1.0), array)
    return real(name, array, at_least=0, at_most=1)


def integers(name: str, value: Any, *, at_least: int, exact: bool = True) -> np.ndarray:
    """Require whole numbers from `at_least` to 2^53, as int64.

    If they need not be `exact`, numbers up to 2^63 are accepted at the precision of float64.
    """
    array = real(name, value, at_least=at_least)
    bad = np.floor(array) != array
    if bad.any():
        raise argument_error(name, first_bad(array, bad), f"whole numbers, at least {at_least}")
    limit = _WHOLE_BELOW if exact else _LARGEST_WHOLE
    large = (array >= limit) & (exact or array > limit)
    if large.any():
        why = "whole numbers below 2^53: float64 does not hold all beyond" if exact else "at most 2^63"
        raise argument_error(name, first_bad(array, large), why)
    if not exact:
        array = np.minimum(array, np.nextafter(float(limit), 0))
    return np.asarray(array).astype(np.int64)


def distribution(name: str, value: Any) -> np.ndarray:
    """Require probabilities over the last axis: non-negative, no nan, sum one within 1e-8.

    The sum of a float32 distribution may be off by 2e-5; the distribution is normalised in float64.
    """
    if _is_distribution(value):
        return value
    array = numbers(name, value)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise argument_error(name, value, "needs a last axis of outcomes")
    negative = array < 0
    if negative.any():
        raise argument_error(name, first_bad(array, negative), "probabilities are not negative")
    total, tolerance = array.sum(axis=-1), _tolerance(value)
    excess = total - 1
    off = abs(excess) > tolerance
    if off.any():
        by = float(first_bad(excess, off))
        index = np.argwhere(off)[0]
        where = f" at batch index {tuple(map(int, index))}" if index.size else ""
        raise ValueError(
            f"{name} sums to {1 + by:.17g}{where}, off by {by:+.3g}: "
            f"probabilities must sum to one within {tolerance:g}"
        )
    return array / np.asarray(total)[..., None] if tolerance > SUM_TOLERANCE else array


def _is_distribution(value: Any) -> bool:
    """True if the value certainly is a distribution without conversion; False may mean either."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or not value.ndim or not value.size:
        return False
    return bool(value.min() >= 0 and abs(value.sum(axis=-1) - 1).max() <= SUM_TOLERANCE)


def _tolerance(value: Any) -> float:
    return _SUM_TOLERANCE_FLOAT32 if np.asarray(value).dtype == np.float32 else SUM_TOLERANCE


def booleans(name: str, value: Any) -> np.ndarray:
    """Require truth values, or zeros and ones, as booleans."""
    try:
        array = np.asarray(value)
        array = array if array.dtype == bool else as_numbers(array)
    except (
        TypeError,
        ValueError,
        OverflowError,
    ) as error:  # Rows of unequal length, or entries that are not numbers.
        raise argument_error(name, value, "an array of booleans, or zeros and ones") from error
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise argument_error(name, value, "only booleans, or zeros and ones")
    return array.astype(bool, copy=False)


def mask(name: str, value: Any, like: np.ndarray, *, both: bool = False) -> np.ndarray:
    """Require a boolean verifier over the outcomes of `like` with at least one valid outcome.

    With `both`, an invalid outcome is required too.
    """
    array = booleans(name, value)
    if array.ndim == 0 or array.shape[-1] != like.shape[-1]:
        raise argument_error(
            f"{name}.shape", array.shape, f"the last axis must have {like.shape[-1]} outcomes"
        )
    if not array.any(axis=-1).all():
        raise argument_error(name, value, "at least one outcome must be valid")
    if both and array.all(axis=-1).any():
        raise argument_error(name, value, "at least one outcome must be invalid")
    return array


def require_common_shape(**arrays: np.ndarray) -> None:
    """Raise an error that lists the shapes if they do not broadcast together."""
    try:
        np.broadcast_shapes(*(np.shape(a) for a in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(a)}" for name, a in arrays.items())
        raise ValueError(f"shapes do not fit: {shapes}; they must broadcast together") from None
