"""Boxes of a few scalars: their ranges, how they are split, and functions on whole boxes in ball arithmetic.

A scalar is a ball (`arb`), or a power series in one coordinate (`arb_series`): a function written with
+ - * /, .log(), .exp() and .sqrt() takes either, and its series give enclosures of all derivatives.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from flint import arb, arb_series, ctx

from ..support.errors import argument_error

Scalar: TypeAlias = Any
"""A ball, or a power series of balls."""
Function: TypeAlias = Callable[..., Sequence[Scalar]]
"""Of scalars by name, with one or several components."""
Piece: TypeAlias = tuple[tuple[float, float], ...]
"""A part of a box: the two ends in each coordinate."""


@dataclass(frozen=True)
class Range:
    """A closed interval of a scalar, its ends as exact decimals, and the scale on which it is split.

    On the scale "log" the coordinate is log x, on "log odds" it is log(x/(1-x)).
    """

    low: str
    high: str
    scale: Literal["linear", "log", "log odds"] = "linear"

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"

    @property
    def ends(self) -> tuple[float, float]:
        """The ends in the coordinate, rounded outwards."""
        low, high = (self._coordinate(_exact(end)) for end in (self.low, self.high))
        if not low < high:
            raise argument_error("low, high", str(self), "low below high")
        return _rounded(low.lower(), -math.inf), _rounded(high.upper(), math.inf)

    def scalar(self, coordinate: Scalar) -> Scalar:
        """The scalar at a coordinate, a ball or a series."""
        if self.scale == "linear":
            return coordinate
        return coordinate.exp() if self.scale == "log" else 1 / (1 + (-coordinate).exp())

    def _coordinate(self, x: arb) -> arb:
        if self.scale == "linear":
            return x
        return x.log() if self.scale == "log" else (x / (1 - x)).log()


def linear(low: str, high: str) -> Range:
    """A scalar between two numbers, split evenly."""
    return Range(low, high)


def logarithmic(low: str, high: str) -> Range:
    """A positive scalar, split on a logarithmic scale."""
    return Range(low, high, "log")


def rate(least: str) -> Range:
    """A probability from `least` to 1 - `least`, split on the scale of its log odds."""
    return Range(least, f"1 - {least}", "log odds")


def xlogx(y: Scalar) -> Scalar:
    """The scalar y log y, whose derivative 1 + log y gives tighter series than the product."""
    if not isinstance(y, arb_series):
        return y * y.log()
    rest = (y.derivative() * (1 + y.log())).integral()
    return rest + y[0] * y[0].log()


def nonnegative(x: Scalar) -> Scalar:
    """A scalar that is not negative, without what rounding adds: a product of balls may reach below zero."""
    if not isinstance(x, arb_series):
        return x.nonnegative_part()
    return arb_series([x[0].nonnegative_part(), *(x[k] for k in range(1, x.prec))], x.prec)


def described(ranges: Mapping[str, Range]) -> str:
    """The box in words."""
    return ", ".join(f"{name} in {span}" for name, span in ranges.items())


def _exact(number: str) -> arb:
    """A decimal, or 1 less a decimal, as a ball."""
    head, less, tail = number.partition(" - ")
    return arb(head) - arb(tail) if less else arb(head)


def _rounded(x: arb, towards: float) -> float:
    nearest = float(x.mid())
    return nearest if arb(nearest) == x else math.nextafter(nearest, towards)


def halves(piece: Piece, axis: int) -> tuple[Piece, Piece]:
    """The piece cut in two across a coordinate."""
    low, high = piece[axis]
    middle = low + (high - low) / 2
    lower, upper = ((low, middle),), ((middle, high),)
    return piece[:axis] + lower + piece[axis + 1 :], piece[:axis] + upper + piece[axis + 1 :]


@dataclass(frozen=True)
class OnBox:
    """A function on a box, evaluated on whole pieces; what cannot be evaluated is nan in one component."""

    function: Function
    ranges: Mapping[str, Range]

    @property
    def whole(self) -> Piece:
        """All of the box."""
        return tuple(span.ends for span in self.ranges.values())

    def at(self, coordinates: Sequence[Scalar]) -> list[Scalar]:
        """The components at coordinates, balls or series."""
        scalars = (span.scalar(z) for span, z in zip(self.ranges.values(), coordinates, strict=True))
        try:
            return list(self.function(**dict(zip(self.ranges, scalars, strict=True))))
        except (ValueError, ZeroDivisionError):  # A quotient by a series or ball that may be zero.
            return [arb.nan()]

    def values(self, piece: Piece) -> list[arb]:
        """The components on the whole piece."""
        return self.at([ball(span) for span in piece])

    def coefficients(self, balls: Sequence[arb], axis: int, order: int) -> list[list[arb]]:
        """For each component its Taylor coefficients 0..order in one coordinate, on all of the balls."""
        with series_of_order(order):
            coordinates = [arb_series([z, 1]) if i == axis else z for i, z in enumerate(balls)]
            found = self.at(coordinates)
            return [_coefficients(value, order) for value in found]


def _coefficients(value: Scalar, order: int) -> list[arb]:
    if not isinstance(value, arb_series):
        return [arb(value) if k == 0 or not arb(value).is_finite() else arb(0) for k in range(order + 1)]
    return [value[k] if k < value.prec else arb.nan() for k in range(order + 1)]


def ball(span: tuple[float, float]) -> arb:
    """The ball of an interval."""
    low, high = span
    return arb(low).union(arb(high))


class series_of_order:  # noqa: N801 - read as a verb phrase: `with series_of_order(2):`
    """Context in which power series keep their terms up to that order."""

    def __init__(self, order: int) -> None:
        self.length = order + 1

    def __enter__(self) -> None:
        self._before, ctx.cap = ctx.cap, self.length

    def __exit__(self, *_: object) -> None:
        ctx.cap = self._before
