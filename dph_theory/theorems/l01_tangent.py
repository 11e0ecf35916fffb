"""L1: a function whose second derivative is not negative lies above its tangents."""

from functools import partial

import numpy as np
import sympy

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def tangent(v: Values, w: Values, excess: float = 0) -> Values:
    """f(w) + (1 + excess) f'(w) (v - w) of every smooth generator."""
    return each(lambda f: f.generator(w) + (1 + excess) * f.generator_derivative(w) * (v - w), SMOOTH)


def curve(v: Values) -> Values:
    return each(lambda f: f.generator(v), SMOOTH)


def derivation() -> Claims:
    # The gap between the function and its tangent at w has the slope f'(v) - f'(w), which by L1.rising has
    # the sign of v - w as f'' >= 0: the gap falls up to w, where it is 0, and rises from there.
    v, w, height, slope = sympy.symbols("v w f_w slope_w", real=True)
    f = sympy.Function("f")(v)
    gap = f - (height + slope * (v - w))
    yield Claim("the gap's slope", sympy.Derivative(gap, v), equals=sympy.Derivative(f, v) - slope)
    yield Claim(
        "and its second derivative", sympy.Derivative(gap, (v, 2)), equals=sympy.Derivative(f, (v, 2))
    )
    yield Claim("the gap at w", (height + slope * (v - w)).subs(v, w), equals=height)


THEOREM = Theorem(
    name="L1.tangent",
    title="A function whose second derivative is not negative lies above its tangents",
    source=Source("rudin1976principles", "exercise 5.14"),
    statement=r"f'' \ge 0 \;\Rightarrow\; f(w) + f'(w)(v - w) \le f(v),"
    r"\quad \text{strictly for } v \ne w \text{ if } f'' > 0",
    relation=Relation.AT_MOST,
    lhs=tangent,
    rhs=curve,
    instances=chart(v=log_uniform(1e-3, 1e3), w=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(v=".4", w="2.5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("a tangent 0.001% steeper", lhs=partial(tangent, excess=1e-5)),
        neighbour(
            "k2 = (log u)^2/2, whose second derivative changes sign",
            lhs=lambda v, w: k2_of_ratio(w) + np.log(w) / w * (v - w),
            rhs=lambda v: k2_of_ratio(v),
        ),
    ),
)
