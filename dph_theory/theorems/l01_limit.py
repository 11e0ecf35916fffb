"""L1: a bounded rising sequence converges, and the iterates of a continuous map to its fixed point."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

ROUNDS_PER_DIGIT = 8


def iterate(c: Values, eps: float) -> Values:
    """The iterates of x -> sqrt(c + x) from 0: more of them the smaller eps."""
    x = 0 * c
    for _ in range(round(-ROUNDS_PER_DIGIT * np.log10(eps))):
        x = np.sqrt(c + x)
    return x


def first_fixed_point(c: Values) -> Values:
    return (1 + np.sqrt(1 + 4 * c)) / 2


THEOREM = Theorem(
    name="L1.limit",
    title="A bounded rising sequence converges: iterates of a rising continuous map to its first fixed point",
    source=Source("rudin1976principles", "theorem 3.14"),
    statement=r"x_n \le x_{n+1} = F(x_n) \le b,\; F \text{ continuous and rising} \;\Rightarrow\;"
    r" x_n \to \min\{x \ge x_0 : F(x) = x\} \quad (\text{here } F(x) = \sqrt{c + x})",
    relation=Relation.TENDS,
    lhs=iterate,
    rhs=first_fixed_point,
    instances=chart(c=uniform(0.5, 20)),
    expected=Verdict.HOLDS,
    examples=(example(c="2"),),
    tolerance=1e-6,
    false_neighbours=(
        neighbour("the limit is the bound 1 + sqrt(c)", rhs=lambda c: 1 + np.sqrt(c)),
        neighbour("0.1% past it", rhs=lambda c: 1.001 * first_fixed_point(c)),
        near(0.01, c=(12, 0.01)),
    ),
    note="A textbook lemma, not proved here.",
)
