"""Boxes, ways from scalars to instances, and gaps that several statements share.

Two laws of two outcomes are (p, 1-p), of odds o = p/(1-p), and (p(1-s), (1-p)(1+os)): so all pairs are
written in which the second law has less of the first outcome, and the others with the outcomes exchanged.
The two laws meet at s = 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias

import sympy
from flint import arb, arb_series
from sympy.printing.lambdarepr import LambdaPrinter

from ..divergences import JENSEN_SHANNON, SMOOTH
from ..fdivergence import FDivergence, u
from ..numeric.balls import ZERO
from ..numeric.boxes import Range, Scalar, linear, logarithmic, nonnegative, rate, xlogx
from ..statement.reduction import Reduction
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
) -> tuple[Reduction, Reduction]:
    """The reductions for two laws of two outcomes, in either order of the outcomes.

    `instance(first, second, **scalars)` takes the two laws and the other scalars; `box` has odds and drop.
    """

    def below(odds: Scalar, drop: Scalar, **others: Scalar) -> Mapping[str, Any]:
        return instance(*laws(odds, drop), **others)

    def above(odds: Scalar, drop: Scalar, **others: Scalar) -> Mapping[str, Any]:
        first, second = laws(odds, drop)
        return instance(first[::-1], second[::-1], **others)

    return (
        Reduction(text, box, below, **stated),
        Reduction(f"{text}; the outcomes exchanged", box, above, **stated),
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


@dataclass(frozen=True)
class Generator:
    """A divergence's declared generator f(u) on scalars, and its derivative; written down when first used."""

    divergence: FDivergence

    @cached_property
    def value(self) -> Callable[[Scalar], Scalar]:
        """f, as declared."""
        return _on_scalars(self.divergence.expression)

    @cached_property
    def slope(self) -> Callable[[Scalar], Scalar]:
        """f', written so that its derivative keeps one sign."""
        if self.divergence is JENSEN_SHANNON:
            return _on_scalars(sympy.log(2) - sympy.log(1 + 1 / u))
        return _on_scalars(sympy.expand(self.divergence.derivative))

    def __call__(self, ratio: Scalar) -> Scalar:
        """f(u); the series come by way of f', which gives tighter ones."""
        if not isinstance(ratio, arb_series):
            return self.value(ratio)
        return (ratio.derivative() * self.slope(ratio)).integral() + self.value(ratio[0])

    def excess(self, ratio: Scalar, step: Scalar) -> Scalar:
        """f(u + step) - f(u) - f'(u) step."""
        return self(ratio + step) - self(ratio) - self.slope(ratio) * step


class _Exact(LambdaPrinter):
    """Writes fractions as balls at the working precision."""

    def _print_Rational(self, number: sympy.Rational) -> str:  # noqa: N802 - sympy's name
        return f"ball({number.p}, {number.q})"


def _on_scalars(expression: sympy.Expr) -> Callable[[Scalar], Scalar]:
    functions = {
        "log": lambda x: x.log() if hasattr(x, "log") else arb(x).log(),
        "sqrt": lambda x: x.sqrt(),
        "ball": lambda p, q: arb(p) / q,
    }
    printer = _Exact({"fully_qualified_modules": False, "inline": True})
    return sympy.lambdify(u, expression, modules=[functions], printer=printer)


GENERATORS = tuple(map(Generator, SMOOTH))
"""Of the smooth divergences, on scalars."""


def two_verdicts(log_odds: Scalar, gain: Scalar) -> dict[str, Any]:
    """A base of one valid and one invalid outcome, and beta."""
    return {"base": base_of(log_odds), "valid": [True, False], "beta": 1 / gain}


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


def _between(f: Generator) -> Callable[[Scalar, Scalar], list[Scalar]]:
    return lambda odds, drop: [f(1 - drop) + f(1 + odds * drop) / odds]


BETWEEN = tuple(map(_between, GENERATORS))
"""D_f(second || first)/p of each smooth divergence."""


def apart(
    text: str,
    instance: Callable[[Law, Law], Mapping[str, Any]],
    gap: Callable[[Scalar, Scalar], list[Scalar]],
) -> tuple[Reduction, ...]:
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


def merging(
    text: str, instance: Callable[..., Mapping[str, Any]], factor: Callable[[Scalar, Scalar, Scalar], Scalar]
) -> tuple[Reduction, ...]:
    """What merging two outcomes of ratios u(1-s) and u(1+os) loses, p f(u(1-s)) + (1-p) f(u(1+os)) - f(u).

    p and 1-p are the reference's shares, so that u, among the scalars as `ratio`, is their mean. A generator
    that is a power or a logarithm, up to a line, gives a power of u times the divergence of the two laws;
    Jensen-Shannon's is taken with u. `factor` is what the loss is to be multiplied by.
    """
    reductions: list[Reduction] = []
    for index, divergence in enumerate(SMOOTH):
        if divergence is JENSEN_SHANNON:
            # Beyond that drop the second derivative's balls lose more digits than their radii have.
            box = {"odds": ODDS, "drop": linear("0", "0.9999"), "ratio": RATIO}
            stated: dict[str, Any] = {
                "gap": jensen_shannon_merged,
                "factor": lambda odds, ratio, share: [factor(odds, ratio, share) * ratio / (1 + ratio)],
            }
            free = {"share": RATE}
        else:
            box, free = {"odds": ODDS, "drop": DROP}, {"ratio": RATIO, "share": RATE}
            stated = {"gap": BETWEEN[index], "factor": _scaled(factor, divergence)}
        reductions += both_ways(
            f"{text}; {divergence.name}",
            box,
            instance,
            components=(index,),
            zero=("drop", 2),
            free=free,
            **stated,
        )
    return tuple(reductions)


def jensen_shannon_merged(odds: Scalar, drop: Scalar, ratio: Scalar) -> list[Scalar]:
    """What merging loses of Jensen-Shannon, times (1+u)/u.

    With w = u/(1+u) and k(t) = (1+t) log(1+t) - t it is g(-s) + g(os)/o, g(t) = (k(t) - k(wt)/w)/(1-w). The
    series in s come by way of g'' = 1/((1+t)(1+wt)), whose factors are added as logarithms: the product of
    two positive balls need not be positive.
    """
    w = chance(ratio)
    if not isinstance(drop, arb_series):
        falls, rises = (
            (_over_tangent(t) - _over_tangent(w * t) / w) * (1 + ratio) for t in (-drop, odds * drop)
        )
        return [falls + rises / odds]

    def slope(s: Scalar) -> Scalar:
        rise = nonnegative(odds * s)
        rising = (1 + rise).log() - (1 + nonnegative(w * rise)).log()
        return (rising - (1 - s).log() + (1 - w * s).log()) * (1 + ratio)

    rise = nonnegative(odds * drop)
    falling = (-(1 - drop).log() - (1 - w * drop).log()).exp()
    rising = (odds.log() - (1 + rise).log() - (1 + nonnegative(w * rise)).log()).exp()
    slopes = slope(drop[0]) + (falling + rising).integral()
    return [jensen_shannon_merged(odds, drop[0], ratio)[0] + slopes.integral()]


def _over_tangent(t: Scalar) -> Scalar:
    return xlogx(1 + t) - t


def _scaled(
    factor: Callable[[Scalar, Scalar, Scalar], Scalar], divergence: FDivergence
) -> Callable[..., list[Scalar]]:
    @cache
    def power() -> arb:
        # u^2 f'' is a power of u: its value at 4 is 4^power of that at 1.
        curvature = sympy.lambdify(u, sympy.diff(divergence.expression, u, 2) * u**2)
        return arb(round(4 * math.log(curvature(4.0) / curvature(1.0), 4))) / 4

    def scaled(odds: Scalar, ratio: Scalar, share: Scalar) -> list[Scalar]:
        return [factor(odds, ratio, share) * ratio ** power()]

    return scaled


def scalar_weight(size: int, validity: Scalar, scale: str = "std") -> Scalar:
    """alpha_G(V) on scalars: the gains averaged over the others' successes."""
    return sum(
        math.comb(size - 1, k) * validity**k * (1 - validity) ** (size - 1 - k) * gain
        for k, gain in enumerate(gains(size, ZERO, scale))
    )
