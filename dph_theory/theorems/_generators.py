"""The declared generators on scalars, and the boxes of what an f-divergence loses by merging outcomes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import sympy
from flint import arb, arb_series
from sympy.printing.lambdarepr import LambdaPrinter

from ..divergences import JENSEN_SHANNON, SMOOTH
from ..fdivergence import FDivergence, u
from ..numeric.enclosures import Scalar, linear, nonnegative, xlogx
from ..statement.theorem import ScalarForm
from ._boxes import DROP, ODDS, RATE, RATIO, both_ways, chance


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


def _between(f: Generator) -> Callable[[Scalar, Scalar], list[Scalar]]:
    return lambda odds, drop: [f(1 - drop) + f(1 + odds * drop) / odds]


BETWEEN = tuple(map(_between, GENERATORS))
"""D_f(second || first)/p of each smooth divergence."""


def merging(
    text: str, instance: Callable[..., Mapping[str, Any]], factor: Callable[[Scalar, Scalar, Scalar], Scalar]
) -> tuple[ScalarForm, ...]:
    """What merging two outcomes of ratios u(1-s) and u(1+os) loses, p f(u(1-s)) + (1-p) f(u(1+os)) - f(u).

    p and 1-p are the reference's shares, so that u, among the scalars as `ratio`, is their mean. A generator
    that is a power or a logarithm, up to a line, gives a power of u times the divergence of the two laws;
    Jensen-Shannon's is taken with u. `factor` is what the loss is to be multiplied by.
    """
    reductions: list[ScalarForm] = []
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
