"""Charts: maps from the unit cube to test cases.

Random points of the cube test a theorem, an optimiser over the cube attacks it, and rounding a test case
to few digits makes it rational, for exact arithmetic and for counterexamples that a person can read. The maps
send the cube's corners to the extremes: zero and near-zero masses, rates near 0 and 1, beta from 1e-3 to 1e3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from ..numeric.elementary import expit

Instance = Mapping[str, np.ndarray]
"""Named arrays, each with one leading batch axis."""


@dataclass(frozen=True)
class Part:
    """One named part of a test case: cube (batch, dimension) -> values (batch, ...), and its rounding."""

    dimension: int
    from_cube: Callable[[np.ndarray], np.ndarray]
    rounded: Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class Chart:
    """A product of parts, which share out the coordinates of the cube in order.

    `derive` takes parts by name and gives further ones, which sides may use and counterexamples leave out.
    """

    parts: Mapping[str, Part]
    derive: Callable[..., Mapping[str, Any]] | None = None

    @property
    def dimension(self) -> int:
        """The number of coordinates of the cube."""
        return sum(part.dimension for part in self.parts.values())

    def __call__(self, cube: np.ndarray) -> Instance:
        """The test cases at cube points (batch, dimension)."""
        instance, start = {}, 0
        for name, part in self.parts.items():
            instance[name] = part.from_cube(cube[:, start : start + part.dimension])
            start += part.dimension
        return instance

    def completed(self, instance: Instance) -> Mapping[str, Any]:
        """Test case together with the parts that `derive` computes from it."""
        if self.derive is None:
            return instance
        return {
            **instance,
            **self.derive(**{name: instance[name] for name in signature(self.derive).parameters}),
        }

    def deriving(self, derive: Callable[..., Mapping[str, Any]]) -> "Chart":
        """Chart whose test cases also have the parts that derive(**parts) returns."""
        return replace(self, derive=derive)

    def rounded(self, instance: Instance, digits: int) -> Instance:
        """Nearby test case whose numbers are exact fractions of about that many digits."""
        return {name: self.parts[name].rounded(value, digits) for name, value in instance.items()}


def chart(**parts: Part) -> Chart:
    """The chart with these named parts."""
    return Chart(MappingProxyType(parts))


def as_floats(instance: Instance) -> Instance:
    """Fractions as float64; other arrays unchanged."""
    return {name: value.astype(float) if value.dtype == object else value for name, value in instance.items()}


@dataclass(frozen=True)
class Example:
    """A stored test case, and the values of a statement's two sides there, where they are known."""

    parts: Instance
    lhs: np.ndarray | None = None
    rhs: np.ndarray | None = None

    def giving(
        self, *, value: str | None = None, lhs: str | None = None, rhs: str | None = None
    ) -> "Example":
        """Example with the values that the sides must have there (`value` for both), as decimal strings."""
        sides = (value if side is None else side for side in (lhs, rhs))
        return Example(self.parts, *(None if side is None else np.array(side.split()) for side in sides))

    def restricted_to(self, chart: "Chart") -> "Example":
        """Example with only those parts that test cases of the chart have."""
        return replace(self, parts={name: part for name, part in self.parts.items() if name in chart.parts})

    def but(self, **parts: Any) -> "Example":
        """Example with parts changed, added or (None) left out, written as for `example`.

        The values of the sides there are not known.
        """
        new = example(**{name: part for name, part in parts.items() if part is not None}).parts
        unchanged = {name: part for name, part in self.parts.items() if name not in parts}
        return Example({**unchanged, **new})


def example(*, value: Any = None, lhs: Any = None, rhs: Any = None, **parts: Any) -> Example:
    """One named test case from numbers written as decimal strings, exact: `example(base=".3 .2 .5", ...)`.

    A string of several numbers is a vector, a list of strings a matrix; booleans are masks. `value`, `lhs`
    and `rhs` are as for `Example.giving`.
    """
    plain = Example({name: _parse(part)[None] for name, part in parts.items()})
    return plain.giving(value=value, lhs=lhs, rhs=rhs)


def _parse(value: Any) -> np.ndarray:
    if isinstance(value, str):
        numbers = [Fraction(word) for word in value.split()]
        return np.array(numbers if len(numbers) > 1 or value.endswith(" ") else numbers[0], dtype=object)
    if isinstance(value, int) and not isinstance(value, bool):
        return np.array(Fraction(value), dtype=object)
    if isinstance(value, list | tuple) and not isinstance(value[0], bool):
        return np.stack([_parse(entry) for entry in value])
    return np.array(value, dtype=bool)


def _round(value: float, digits: int) -> Fraction:
    return Fraction(format(float(value), f".{digits}g"))


_round_each = np.frompyfunc(_round, 2, 1)


def _round_rates(rates: np.ndarray, digits: int) -> np.ndarray:
    """Rates in (0, 1) as fractions of few digits; above 1/2 the complement is rounded."""
    near = np.minimum(rates, 1 - rates)
    fractions = _round_each(near, digits)
    return np.where(rates <= 0.5, fractions, 1 - fractions)


def _round_distribution(distribution: np.ndarray, digits: int) -> np.ndarray:
    """Fractions that sum to one: each entry is rounded, and the largest takes the rest."""
    fractions = np.array([_round(value, digits) for value in distribution], dtype=object)
    top = int(np.argmax(distribution))
    fractions[top] = 1 - (fractions.sum() - fractions[top])
    return fractions if fractions[top] > 0 else _round_distribution(distribution, digits + 1)


def _round_distributions(distributions: np.ndarray, digits: int) -> np.ndarray:
    return np.apply_along_axis(_round_distribution, -1, distributions, digits)


def _centred(cube: np.ndarray, power: int) -> np.ndarray:
    """(2z-1)^power of cube points z, power odd: flat in the middle, so that extremes do not dominate."""
    centred = 2 * cube - 1
    # A square is a product; other powers take logarithms.
    return centred * np.square(centred) ** (power // 2)


def simplex(outcomes: int, *leading: int, spread: float = 12.0, zeros: bool = False) -> Part:
    """Distributions (batch, *leading, outcomes) with masses down to about e^(-2 spread).

    With `zeros` the cube's lower faces are masses of exactly zero; a distribution of nothing else is uniform.
    """
    shape = (*leading, outcomes)

    def from_cube(cube: np.ndarray) -> np.ndarray:
        corner = cube.reshape(-1, *shape)
        logits = spread * _centred(corner, 5)
        if zeros:
            empty = (corner == 0) & (corner > 0).any(axis=-1, keepdims=True)
            logits = np.where(empty, -np.inf, logits)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    return Part(int(np.prod(shape)), from_cube, _round_distributions)


def masks(outcomes: int) -> Part:
    """Verifiers (batch, outcomes): the first outcome valid, the last invalid, the others either."""

    def from_cube(cube: np.ndarray) -> np.ndarray:
        valid = np.empty((len(cube), outcomes), dtype=bool)
        valid[:, 0], valid[:, -1] = True, False
        valid[:, 1:-1] = cube < 0.5
        return valid

    return Part(outcomes - 2, from_cube, lambda valid, digits: valid)


def uniform(low: float, high: float, *shape: int) -> Part:
    """Numbers (batch, *shape) spread evenly over an interval."""
    return _numbers(shape, lambda z: low + (high - low) * z)


def log_uniform(low: float, high: float, *shape: int) -> Part:
    """Positive numbers (batch, *shape) spread evenly on a logarithmic scale."""
    return _numbers(shape, lambda z: low * (high / low) ** z)


def rates(*shape: int, low: float = 1e-12, high: float = 1e-7) -> Part:
    """Probabilities (batch, *shape) from `low` up to 1 - `high`."""
    bottom, top = np.log(low), -np.log(high)
    # The middle of the cube is a rate of one half; the two ends are reached at their own pace.
    part = _numbers(shape, lambda z: expit(np.where(z < 0.5, -bottom, top) * _centred(z, 3)))
    return replace(part, rounded=_round_rates)


def discounts(least: float = 1e-6, nearest: float = 1e-4) -> Part:
    """Discount factors (batch,) from `least` to 1 - `nearest`."""
    return rates(low=least, high=nearest)


def integers(low: int, high: int, *shape: int) -> Part:
    """Whole numbers (batch, *shape) from low to high, both included."""

    def from_cube(cube: np.ndarray) -> np.ndarray:
        return np.minimum(low + np.floor(cube * (high - low + 1)), high).astype(np.int64).reshape(-1, *shape)

    return Part(int(np.prod(shape)), from_cube, lambda values, digits: values)


def _numbers(shape: tuple[int, ...], function: Callable[[np.ndarray], np.ndarray]) -> Part:
    return Part(int(np.prod(shape)), lambda cube: function(cube).reshape(-1, *shape), _round_each)
