"""Boxes of a few scalars, branch and bound over them: a function positive, or near zero, on all of one."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
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


TELLING = 0.9
"""A cut tells if it leaves less than this share of a radius."""
ORDER = 12
"""The most interpolation nodes a coordinate."""


@dataclass(frozen=True)
class Enclosure:
    """What was found: the pieces looked at, one that is left undecided, and one on which it fails for sure.

    `bound` is the greatest distance from zero, of a function that was to vanish.
    """

    pieces: int
    left: Piece | None = None
    fails: Piece | None = None
    bound: float | None = None


def positive(function: OnBox, *, zero: tuple[int, int] | None = None, budget: int) -> Enclosure:
    """Whether all components are positive on the box, within a budget of pieces.

    On each piece by ball arithmetic as it is, else by the mean-value form at the corner to which the
    slopes that keep their sign point. zero = (axis, m) says that every component vanishes with the scalar of
    that coordinate to order m: then f/x^m is what must be positive, and Taylor's remainder, the m-th
    coefficient on the hull of 0 and the piece, encloses it. It is not positive where f is not, if m is even.
    """
    # Breadth first, so that a violation is found before its boundary is followed to the end.
    queue, whole, pieces = deque([function.whole]), function.whole, 0
    while queue:
        if pieces == budget:
            return Enclosure(pieces, left=queue[0])
        piece, pieces = queue.popleft(), pieces + 1
        balls = [ball(span) for span in piece]
        touching = zero is not None and balls[zero[0]].contains(0)
        slopes: list[list[arb]] = []
        if not touching:
            values = function.at(balls)
            if _all_positive(values):
                continue
            if any(value < 0 for value in values):
                return Enclosure(pieces, fails=piece)
            slopes = _slopes(function, balls)
            if _positive_by_slopes(function, piece, balls, slopes):
                continue
        if zero is not None and _all_positive(_divided(function, balls, *zero)):
            continue
        axis = (
            _steepest(piece, whole, slopes)
            if zero is None or slopes
            else _sharpest(function, piece, whole, *zero)
        )
        queue += halves(piece, axis)
    return Enclosure(pieces)


def _all_positive(values: Sequence[arb]) -> bool:
    return all(value > 0 for value in values)


def _slopes(function: OnBox, balls: Sequence[arb]) -> list[list[arb]]:
    """The partial derivatives on the piece, [axis][component]."""
    return [
        [component[1] for component in function.coefficients(balls, axis, 1)] for axis in range(len(balls))
    ]


def _positive_by_slopes(
    function: OnBox, piece: Piece, balls: Sequence[arb], slopes: Sequence[Sequence[arb]]
) -> bool:
    """Whether the mean-value form shows each component to be positive."""
    components = len(slopes[0])
    if any(len(slope) != components for slope in slopes):
        return False
    for c in range(components):
        own = [slope[c] for slope in slopes]
        if not all(slope.is_finite() for slope in own):
            return False
        start = [_least_end(span, slope) for span, slope in zip(piece, own, strict=True)]
        change = [
            slope * (z - s) for slope, z, s in zip(own, balls, start, strict=True) if not _signed(slope)
        ]
        least = function.at(start)
        if len(least) != components or not least[c] + sum(change, arb(0)) > 0:
            return False
    return True


def _signed(slope: arb) -> bool:
    return slope >= 0 or slope <= 0


def _least_end(span: tuple[float, float], slope: arb) -> arb:
    """Where a function of that slope is least on the interval; its middle if that is not known."""
    low, high = span
    if _signed(slope):
        return arb(low if slope >= 0 else high)
    return arb(low + (high - low) / 2)


def _divided(function: OnBox, balls: Sequence[arb], axis: int, order: int) -> list[arb]:
    """The components over x^order, x the coordinate of that axis, with which they vanish to that order."""
    hull = [z.union(arb(0)) if i == axis else z for i, z in enumerate(balls)]
    return [component[order] for component in function.coefficients(hull, axis, order)]


def _sharpest(function: OnBox, piece: Piece, whole: Piece, axis: int, order: int) -> int:
    """Where to cut a piece that touches zero: towards zero while that tells, else across another axis."""

    def radius(pieces: Iterable[Piece]) -> float:
        balls = ([ball(span) for span in part] for part in pieces)
        found = [value for own in balls for value in _divided(function, own, axis, order)]
        return max(float(value.rad()) if value.is_finite() else math.inf for value in found)

    # The other half is looked at again with the hull up to zero, as large as before.
    nearer = [half for half in halves(piece, axis) if ball(half[axis]).contains(0)]
    now, then = radius([piece]), radius(nearer)
    at_zero = (*piece[:axis], (0.0, 0.0), *piece[axis + 1 :])
    others = [cut for cut in range(len(piece)) if cut != axis]
    if not others or then < TELLING * now or (math.isinf(now) and math.isfinite(radius([at_zero]))):
        return axis
    if math.isinf(now):
        return _widest(piece, whole, others)
    return min(others, key=lambda cut: radius(halves(piece, cut)))


def _widest(piece: Piece, whole: Piece, among: Sequence[int] = ()) -> int:
    """The axis, of those given or of all, along which the piece is the largest part of the whole."""
    shares = [(high - low) / (top - bottom) for (low, high), (bottom, top) in zip(piece, whole, strict=True)]
    return max(among or range(len(piece)), key=shares.__getitem__)


def _steepest(piece: Piece, whole: Piece, slopes: Sequence[Sequence[arb]]) -> int:
    """The axis along which the function varies most on the piece; where that is not known, the widest."""
    most = [max(float(abs(s).upper()) if s.is_finite() else math.inf for s in slope) for slope in slopes]
    if not all(map(math.isfinite, most)):
        return _widest(piece, whole)
    changes = [slope * (high - low) for slope, (low, high) in zip(most, piece, strict=True)]
    return changes.index(max(changes))


def distance_from_zero(function: OnBox, *, tolerance: float, budget: int) -> Enclosure:
    """A bound on the components' distance from zero on the box, from pieces with an error below tolerance.

    On a piece the function differs from its interpolant at n Chebyshev nodes a coordinate by at most
    sum_i Lambda_1...Lambda_{i-1} w_i^n/2^(2n-1) max |d^n f/dx_i^n|/n!, and the interpolant is at most
    Lambda_1...Lambda_d max |f(node)|, with w the widths and Lambda_i <= 1 + (2/pi) log n the Lebesgue
    constants. The derivatives are coefficients of power series on the piece; n is as small as will do.
    """
    whole = function.whole
    stack, pieces, bound = [whole], 0, 0.0
    while stack:
        if pieces == budget:
            return Enclosure(pieces, left=stack[-1], bound=bound)
        piece, pieces = stack.pop(), pieces + 1
        balls = [ball(span) for span in piece]
        remainders = [_remainder(function, balls, axis, tolerance) for axis in range(len(piece))]
        errors = [error for _, error in remainders]
        if max(errors) > tolerance:
            known = all(map(math.isfinite, errors))
            stack += halves(piece, errors.index(max(errors)) if known else _widest(piece, whole))
            continue
        bound = max(bound, _distance_on(function, piece, remainders))
    return Enclosure(pieces, bound=bound)


def _remainder(function: OnBox, balls: Sequence[arb], axis: int, tolerance: float) -> tuple[int, float]:
    """The fewest nodes in that coordinate with an error below the tolerance, else the best, and the error."""
    width, components = 2 * balls[axis].rad(), function.coefficients(balls, axis, ORDER)
    best = (1, math.inf)
    for nodes in range(1, ORDER + 1):
        scale = arb(width) ** nodes / arb(2) ** (2 * nodes - 1)
        errors = [abs(component[nodes]) * scale for component in components]
        error = max((float(e.upper()) if e.is_finite() else math.inf) for e in errors)
        best = min(best, (nodes, error), key=lambda found: found[1])
        if error <= tolerance:
            break
    return best


def _distance_on(function: OnBox, piece: Piece, remainders: Sequence[tuple[int, float]]) -> float:
    """The bound on one piece, from its remainders and the values at its nodes."""
    grids = [_nodes(span, count) for span, (count, _) in zip(piece, remainders, strict=True)]
    values = [abs(value) for point in product(*grids) for value in function.at(point)]
    largest = max(float(v.upper()) if v.is_finite() else math.inf for v in values)
    constants = [1 + 2 / math.pi * math.log(count) for count, _ in remainders]
    total = sum(error * math.prod(constants[:axis]) for axis, (_, error) in enumerate(remainders))
    # The float sum of few terms: one part in 1e12 covers its rounding.
    return (total + math.prod(constants) * largest) * (1 + 1e-12)


def _nodes(span: tuple[float, float], count: int) -> list[arb]:
    low, high = map(arb, span)
    return [(low + high) / 2 + (high - low) / 2 * cosine for cosine in _chebyshev(count)]


@cache
def _chebyshev(count: int) -> tuple[arb, ...]:
    return tuple(arb.cos_pi(arb(2 * k + 1) / (2 * count)) for k in range(count))
