"""B1: total variation's generator |u - 1|/2 is convex and vanishes at u = 1, though not smooth there."""

import sympy

from ..divergences import TOTAL_VARIATION
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def mixture(v: Values, w: Values, t: Values) -> Values:
    return (1 - t) * v + t * w


def at_the_mixture(v: Values, w: Values, t: Values) -> Values:
    return TOTAL_VARIATION.generator(mixture(v, w, t))


def on_the_chord(v: Values, w: Values, t: Values) -> Values:
    return mixture(TOTAL_VARIATION.generator(v), TOTAL_VARIATION.generator(w), t)


def strictly_below(v: Values, w: Values, t: Values) -> Values:
    """The chord lowered by (v - w)/500 where v is within 1% of the kink, and above w."""
    return on_the_chord(v, w, t) - 1e-3 * (abs(v - w) + (v - w)) * (v < 1.01) * (v > 0.99)


def derivation() -> Claims:
    v, w = sympy.symbols("v w", positive=True)
    t = sympy.Symbol("t", nonnegative=True)
    f = sympy.Abs(v - 1) / 2
    yield Claim("f(1) = 0", sympy.Subs(sympy.sqrt((v - 1) ** 2) / 2, v, 1))
    chord = (1 - t) * f + t * f.subs(v, w)
    room = chord - f.subs(v, (1 - t) * v + t * w)
    yield Claim("the chord lies above", room, ">=0", where=(t <= 1,))


THEOREM = Theorem(
    name="B1.variation",
    title="Total variation's generator is convex with f(1) = 0",
    source=Source("li2025choice", "generators"),
    statement=r"f((1-t)v + tw) \le (1-t) f(v) + t f(w), \quad f(1) = 0, \quad f(u) = \tfrac12 |u - 1|",
    relation=Relation.AT_MOST,
    lhs=at_the_mixture,
    rhs=on_the_chord,
    instances=chart(v=log_uniform(1e-6, 1e6), w=log_uniform(1e-6, 1e6), t=uniform(0.01, 0.99)),
    expected=Verdict.PROVED,
    examples=(example(v=".4", w="2.5", t=".5"), example(v="1", w="9", t=".01")),
    symbolic=derivation,
    # Both sides agree wherever v and w lie on the same side of 1, where balls cannot tell <= from >.
    certified=False,
    tight=True,
    false_neighbours=(
        neighbour("a chord that ends near the kink and is 0.2% lower", rhs=strictly_below),
        neighbour(
            "k2 = (log u)^2/2 as a generator",
            lhs=lambda v, w, t: k2_of_ratio(mixture(v, w, t)),
            rhs=lambda v, w, t: mixture(k2_of_ratio(v), k2_of_ratio(w), t),
        ),
    ),
)
