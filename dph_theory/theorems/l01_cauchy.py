"""L1: the Cauchy-Schwarz inequality for weighted sums."""

import numpy as np
import sympy

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def squared_product(law: Values, a: Values, b: Values) -> Values:
    return np.square((law * a * b).sum(axis=-1))


def product_of_squares(law: Values, a: Values, b: Values) -> Values:
    return (law * np.square(a)).sum(axis=-1) * (law * np.square(b)).sum(axis=-1)


def derivation() -> Claims:
    # Lagrange: the gap is a sum over pairs i < j of w_i w_j times a square; both products are double sums.
    v, w = sympy.symbols("w_i w_j", nonnegative=True)
    a, b, c, d = sympy.symbols("a_i b_i a_j b_j", real=True)
    pair = v * w * (a**2 * d**2 + c**2 * b**2) - 2 * (v * a * b) * (w * c * d)
    yield Claim("a pair's part of the gap", pair, equals=v * w * (a * d - c * b) ** 2)
    yield Claim("is not negative", pair, ">=0")
    yield Claim("an outcome with itself", (v * a**2) * (v * b**2), equals=(v * a * b) ** 2)


THEOREM = Theorem(
    name="L1.cauchy",
    title="Cauchy-Schwarz: (E ab)^2 <= E a^2 E b^2",
    source=Source("rudin1976principles", "theorem 1.35"),
    statement=r"\big(\textstyle\sum_i w_i a_i b_i\big)^2 \le \sum_i w_i a_i^2 \,\sum_i w_i b_i^2",
    relation=Relation.AT_MOST,
    lhs=squared_product,
    rhs=product_of_squares,
    instances=chart(law=simplex(3, spread=2.0), a=uniform(-2, 2, 3), b=uniform(-2, 2, 3)),
    expected=Verdict.PROVED,
    examples=(example(law=".2 .3 .5", a="1 2 -1", b="2 1 1"),),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("0.1% less", rhs=scaled(product_of_squares, 0.999)),
        neighbour("the means of a and b", rhs=lambda law, a, b: squared_product(law, a, 1 + 0 * b)),
    ),
)
