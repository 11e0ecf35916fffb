"""Boxes, ways from scalars to instances, and gaps that several statements share.

Two laws of two outcomes are (p, 1-p), of odds o = p/(1-p), and (p(1-s), (1-p)(1+os)): so all pairs are
written in which the second law has less of the first outcome, and the others with the outcomes exchanged.
The two laws meet at s = 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ..numeric.balls import ZERO
from ..numeric.enclosures import Range, Scalar, linear, logarithmic, rate, xlogx
from ..statement.theorem import ScalarForm
from ._laws import gains

Law: TypeAlias = list[Scalar]
"""The masses of two outcomes."""

LOG_ODDS = linear("-13.82", "13.82")
"""Of rates from 1e-6 to 1 - 1e-6."""
GAIN = linear("0.01", "100")
"""1/beta for beta from 1e-2 to 1e2."""
ODDS = logarithmic("1e-6", "1e6")
DROP = linear("0", "1 - 1e-6")
"""The share s by which an outcome's mass falls."""
RATE = rate("1e-6")
SHARE = linear("1e-6", "1 - 1e-6")
RATIO = logarithmic("1e-3", "1e3")
"""Of the policy to the reference."""
GAMMA = linear("1e-6", "1 - 1e-3")


def chance(odds: Scalar) -> Scalar:
    """The rate p of these odds."""
    return 1 / (1 + 1 / odds)


def laws(odds: Scalar, drop: Scalar) -> tuple[Law, Law]:
    """(p, 1-p) and (p(1-s), (1-p)(1+os))."""
    p, rest = chance(odds), 1 / (1 + odds)
    return [p, rest], [p * (1 - drop), rest * (1 + odds * drop)]


def both_ways(
    text: str, box: Mapping[str, Range], instance: Callable[..., Mapping[str, Any]], **stated: Any
) -> tuple[ScalarForm, ScalarForm]:
    """The reductions for two laws of two outcomes, in either order of the outcomes.

    `instance(first, second, **scalars)` takes the two laws and the other scalars; `box` has odds and drop.
    """

    def below(odds: Scalar, drop: Scalar, **others: Scalar) -> Mapping[str, Any]:
        return instance(*laws(odds, drop), **others)

    def above(odds: Scalar, drop: Scalar, **others: Scalar) -> Mapping[str, Any]:
        first, second = laws(odds, drop)
        return instance(first[::-1], second[::-1], **others)

    return (
        ScalarForm(text, box, below, **stated),
        ScalarForm(f"{text}; the outcomes exchanged", box, above, **stated),
    )


def kl_to_first(odds: Scalar, drop: Scalar) -> Scalar:
    """KL(second || first)/p = (1-s) log(1-s) + (1+os) log(1+os)/o."""
    return xlogx(1 - drop) + xlogx(1 + odds * drop) / odds


def kl_to_second(odds: Scalar, drop: Scalar) -> Scalar:
    """KL(first || second)/p = -log(1-s) - log(1+os)/o."""
    return -(1 - drop).log() - (1 + odds * drop).log() / odds


def mass(odds: Scalar) -> Sequence[Scalar]:
    """The factor p that the two divergences above leave out."""
    return [chance(odds)]


def two_verdicts(log_odds: Scalar, gain: Scalar) -> dict[str, Any]:
    """A base of one valid and one invalid outcome, and beta."""
    return {"base": base_of(log_odds), "valid": [True, False], "beta": 1 / gain}


def over_two_verdicts(
    sides: Callable[[Scalar, Scalar], Sequence[tuple[Scalar, Scalar]]], text: str = "two outcomes, one valid"
) -> tuple[ScalarForm]:
    """The reduction of an identity to them, of `sides(log_odds, gain)`."""
    return (ScalarForm(text, {"log_odds": LOG_ODDS, "gain": GAIN}, two_verdicts, sides=sides),)


def solvable_prompt(log_odds: Scalar, gain: Scalar) -> dict[str, Any]:
    """One prompt that the base solves sometimes, and beta."""
    return {"base_rates": base_of(log_odds)[:1], "solvable": [True], "beta": 1 / gain}


def base_of(log_odds: Scalar) -> Law:
    """(A1, A0) of these log odds."""
    return [1 / (1 + (-log_odds).exp()), 1 / (1 + log_odds.exp())]


def tilted_odds(log_odds: Scalar, gain: Scalar) -> Scalar:
    """(A0/A1) e^(-1/beta), the odds of failure of the tilted model."""
    return (-log_odds - gain).exp()


def tilted_law(log_odds: Scalar, gain: Scalar) -> Law:
    """The two masses a e^(v/beta)/Z of the tilted model, with Z and the masses times e^(-1/beta)."""
    (valid, invalid), less = base_of(log_odds), (-gain).exp()
    partition = valid + invalid * less
    return [valid / partition, invalid * less / partition]


TILTED_ODDS = logarithmic("1e-12", "1e12")
"""Of a tilted model's validity; those of the base rate are e^(-1/beta) times as large."""


def rate_before(tilted: Law, gain: Scalar) -> Scalar:
    """The base rate whose tilted model is this law."""
    return 1 / (1 + gain.exp() * tilted[1] / tilted[0])


def apart(
    text: str,
    instance: Callable[[Law, Law], Mapping[str, Any]],
    gap: Callable[[Scalar, Scalar], list[Scalar]],
) -> tuple[ScalarForm, ...]:
    """The reductions for a bound that Pinsker's even law (1/2, 1/2) attains as the laws meet: three boxes.

    All odds but those near 1 with every drop, and those near 1 with the larger drops: in the corner that is
    left the gap vanishes to a higher order.
    """
    few, many = logarithmic("1e-6", "0.8"), logarithmic("1.25", "1e6")
    far = {"odds": logarithmic("0.8", "1.25"), "drop": linear("0.3", "1 - 1e-6")}
    stated: dict[str, Any] = {"gap": gap, "factor": mass}
    return (
        *both_ways(text, {"odds": few, "drop": DROP}, instance, zero=("drop", 2), **stated),
        *both_ways(text, {"odds": many, "drop": DROP}, instance, zero=("drop", 2), **stated),
        *both_ways(text, far, instance, **stated),
    )


def scalar_weight(size: int, validity: Scalar, scale: str = "std") -> Scalar:
    """alpha_G(V) on scalars: the gains averaged over the others' successes."""
    return sum(
        math.comb(size - 1, k) * validity**k * (1 - validity) ** (size - 1 - k) * gain
        for k, gain in enumerate(gains(size, ZERO, scale))
    )
