"""Random points of a claim's domain: all of what its symbols' assumptions allow, signs and edges included."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import sympy
from flint import acb, fmpq

from ...numeric.balls import precision
from ...statement.theorem import Claim
from .evaluation import PRECISIONS, NotEvaluatedError, Point, is_known, value

POINTS, QUICK_POINTS = 24, 12
"""Points at which every claim is tried, and in the short form."""
_TRIES = 100
"""Draws for each point wanted, before a domain counts as one that chance does not reach."""
_EDGES = (fmpq(0), fmpq(1), fmpq(-1), fmpq(1, 2), fmpq(2))
"""Values at which statements like to break; drawn more often than chance would."""


@dataclass(frozen=True)
class Trial:
    """What the points said: at how many the claim is known to hold, and the first where it does not."""

    known: int
    broken_at: Point | None = None
    undefined_at: Point | None = None

    def enough(self, claim: Claim, wanted: int) -> bool:
        """Whether the claim is known to hold at half of the points wanted, or more."""
        return self.known >= (wanted // 2 if claim.symbols() else 1)


def trial(claim: Claim, seed: int = 0, wanted: int = POINTS) -> Trial:
    """The claim at random points, in 50 digits, with cosh(1 + x + ...) for an undetermined f(x, ...)."""
    known, undefined_at = 0, None
    sides = sympy.sympify(claim.expression), sympy.sympify(claim.equals)
    try:
        for point in points(claim, seed, wanted):
            left, right = (value(side, point) for side in sides)
            if not (left.is_finite() and right.is_finite()):
                undefined_at = undefined_at or point
                continue
            with precision(PRECISIONS[-1]):
                difference = left - right
            if not is_known(difference):
                difference = value(sides[0] - sides[1], point)
            holds = obeys(difference, claim.sign)
            if holds is False:
                return Trial(known, broken_at=point)
            known += holds is True
    except NotEvaluatedError:
        return Trial(0)
    return Trial(known, undefined_at=undefined_at)


def obeys(ball: acb, sign: str) -> bool | None:
    """Whether a number known to lie in the ball obeys the sign; None if the ball is too wide to tell.

    A number that is not real obeys none. For "=0" and ">=0" zero to 50 digits counts as zero.
    """
    if not ball.imag.contains(0):
        return False
    if sign == "=0":
        return False if not ball.real.contains(0) else (True if is_known(ball) else None)
    if ball.real < 0 or (sign == ">0" and ball.real.is_zero()):
        return False
    if ball.real > 0:
        return True
    return True if sign == ">=0" and is_known(ball) else None


def points(claim: Claim, seed: int = 0, wanted: int = POINTS) -> Iterator[Point]:
    """Exact points of the claim's domain, the same for the same claim and seed."""
    draws = random.Random(f"{seed}/{claim.text}")
    symbols = sorted(claim.symbols(), key=str)
    found = 0
    for _ in range(_TRIES * wanted):
        point: dict[sympy.Symbol, fmpq] = {}
        for symbol in symbols:
            point[symbol] = _drawn(symbol, point, draws, edge=0.15 if found >= wanted / 4 else 0.8)
        if all(_holds(condition, point) for condition in claim.where):
            yield point
            found += 1
        if found == (wanted if symbols else 1):
            return


def _drawn(symbol: sympy.Symbol, others: Point, draws: random.Random, edge: float) -> fmpq:
    """A value that the symbol's assumptions allow: an edge, another symbol's value, or any scale's."""
    while True:
        kind = draws.random()
        if kind < edge:
            number = draws.choice(_EDGES)
        elif kind < edge + 0.1 and others:
            number = draws.choice(list(others.values()))
        elif symbol.is_integer:
            number = fmpq(draws.randint(-12, 12))
        else:
            # A dyadic number, which balls hold exactly.
            number = fmpq(draws.choice((-1, 1)) * draws.randint(1, 1023), 1024) * fmpq(2) ** draws.choice(
                (0, 0, draws.randint(-9, 9))
            )
        if _allowed(symbol, number):
            return number


def _allowed(symbol: sympy.Symbol, number: fmpq) -> bool:
    return not (
        (symbol.is_positive and number <= 0)
        or (symbol.is_negative and number >= 0)
        or (symbol.is_nonnegative and number < 0)
        or (symbol.is_nonpositive and number > 0)
        or (symbol.is_zero is False and number == 0)
        or (symbol.is_integer and number.q != 1)
    )


def _holds(condition: sympy.Rel, point: Point) -> bool:
    """Whether the condition is certain at the point."""
    ball = value(condition.lhs - condition.rhs, point)
    if not ball.is_finite() or not ball.imag.contains(0):
        return False
    certain = {
        sympy.StrictLessThan: ball.real < 0,
        sympy.LessThan: ball.real <= 0,
        sympy.StrictGreaterThan: ball.real > 0,
        sympy.GreaterThan: ball.real >= 0,
        sympy.Unequality: not ball.real.contains(0),
    }
    return bool(certain[condition.func])
