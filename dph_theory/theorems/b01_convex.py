"""B1, first claim: every declared generator is convex and vanishes at u = 1."""

import numpy as np
import sympy

from ..divergences import DIVERGENCES, JENSEN_SHANNON, TOTAL_VARIATION, alpha_divergence
from ..fdivergence import u
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour

ALPHAS = (0.25, 0.5, 0.75)
"""Members of the mass-covering family, alpha in (0, 1); dyadic, so that balls take them exactly."""
SMOOTH = (
    *(divergence for divergence in DIVERGENCES.values() if divergence is not TOTAL_VARIATION),
    *map(alpha_divergence, ALPHAS),
)
"""Every declared divergence with a second derivative; only total variation has a kink, at u = 1."""


def each(function, divergences=SMOOTH):
    """The function of every divergence, stacked on a trailing axis."""
    return np.stack([function(divergence) for divergence in divergences], axis=-1)


def mixture(v, w, t):
    return (1 - t) * v + t * w


def at_the_mixture(v, w, t):
    ratio = mixture(v, w, t)
    return each(lambda divergence: divergence.generator(ratio))


def on_the_chord(v, w, t):
    return each(lambda divergence: mixture(divergence.generator(v), divergence.generator(w), t))


def half_squared_log(ratio):
    """k2 as a generator: non-negative and zero at u = 1 only, but concave beyond u = e."""
    # A product, since a power of a ball that contains 0 is nan.
    return np.square(np.log(ratio)) / 2


def first_term_halved(ratio):
    return JENSEN_SHANNON.generator(ratio) - ratio * np.log(ratio) / 2


def curvatures():
    """(name, f'') of every smooth divergence, and of the alpha family with a symbolic alpha."""
    for divergence in SMOOTH:
        yield divergence.name, sympy.simplify(sympy.diff(divergence.expression, u, 2))
    yield "alpha", sympy.simplify(sympy.diff(family(), u, 2))


def family(alpha=None):
    """The generator of the alpha family, alpha a real symbol if not given."""
    alpha = sympy.Symbol("alpha", real=True) if alpha is None else alpha
    return (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


def derivation():
    for divergence in SMOOTH:
        yield Claim(f"f(1) = 0, {divergence.name}", divergence.expression.subs(u, 1))
    yield Claim("f(1) = 0, alpha", sympy.simplify(family().subs(u, 1)))
    for alpha in ALPHAS:
        exact = sympy.Rational(alpha)
        declared = alpha_divergence(alpha).expression
        yield Claim(f"alpha = {exact} is declared as the family's member", declared - family(exact))
    for name, curvature in curvatures():
        yield Claim(f"f'' > 0, {name}", curvature, ">0")


THEOREM = Theorem(
    name="B1.convex",
    title="Every generator is convex with f(1) = 0",
    source=Source("li2025choice", "generators"),
    statement=r"f((1-t)v + tw) \le (1-t) f(v) + t f(w), \quad f(1) = 0,\quad f \in \{-\log u,\; u\log u,\;"
    r" u\log u - (u+1)\log\tfrac{u+1}{2},\; \tfrac{u^{1-\alpha} - (1-\alpha)u - \alpha}{\alpha(\alpha-1)},"
    r"\; \ldots\}",
    relation=Relation.AT_MOST,
    lhs=at_the_mixture,
    rhs=on_the_chord,
    instances=chart(v=log_uniform(1e-6, 1e6), w=log_uniform(1e-6, 1e6), t=uniform(0.01, 0.99)),
    expected=Verdict.PROVED,
    examples=(example(v=".4", w="2.5", t=".5"), example(v="1", w="9", t=".01")),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "k2 = (log u)^2/2 as a generator",
            lhs=lambda v, w, t: half_squared_log(mixture(v, w, t)),
            rhs=lambda v, w, t: mixture(half_squared_log(v), half_squared_log(w), t),
        ),
        neighbour(
            "Jensen-Shannon with its first term halved",
            lhs=lambda v, w, t: first_term_halved(mixture(v, w, t)),
            rhs=lambda v, w, t: mixture(first_term_halved(v), first_term_halved(w), t),
        ),
    ),
)
