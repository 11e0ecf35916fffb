"""Small theorems, true and false, on which the checks themselves are tested."""

import sympy

from dph_theory import FORWARD_KL, TOTAL_VARIATION
from dph_theory.references import Source
from dph_theory.statement.charts import chart, example, simplex, uniform
from dph_theory.statement.theorem import Claim, Relation, Theorem, Verdict, neighbour


def _square_claims():
    x, y = sympy.symbols("x y", positive=True)
    yield Claim("square", (x + y) ** 2 - x**2 - 2 * x * y - y**2)


BINOMIAL = Theorem(
    name="toy.binomial",
    title="(x+y)^2 = x^2 + 2xy + y^2",
    source=Source("ours"),
    statement=r"(x+y)^2 = x^2 + 2xy + y^2",
    relation=Relation.EQUAL,
    lhs=lambda x, y: (x + y) ** 2,
    rhs=lambda x, y: x**2 + 2 * x * y + y**2,
    instances=chart(x=uniform(0, 1), y=uniform(0, 1)),
    expected=Verdict.PROVED,
    examples=(example(x=".5", y=".25"),),
    symbolic=_square_claims,
    false_neighbours=(neighbour("cross term halved", rhs=lambda x, y: x**2 + x * y + y**2),),
)

PINSKER = Theorem(
    name="toy.pinsker",
    title="TV^2 <= KL/2",
    source=Source("gilardoni2010pinsker"),
    statement=r"TV^2 \le KL/2",
    relation=Relation.AT_MOST,
    lhs=lambda pi, ref: TOTAL_VARIATION(pi, ref) ** 2,
    rhs=lambda pi, ref: FORWARD_KL(pi, ref) / 2,
    instances=chart(pi=simplex(2), ref=simplex(2)),
    expected=Verdict.CERTIFIED,
    tight=True,
    floor=1e-12,
    false_neighbours=(neighbour("constant cut by 2%", rhs=lambda pi, ref: 0.98 * FORWARD_KL(pi, ref) / 2),),
)

NEEDLE = Theorem(
    name="toy.needle",
    title="A bound that fails only within 0.005 of one point",
    source=Source("ours"),
    statement=r"1 - |z - c|^2 \le 1 - 0.005^2",
    relation=Relation.AT_MOST,
    lhs=lambda x, y: 1 - (x - 0.3) ** 2 - (y - 0.7) ** 2,
    rhs=lambda x: 1 - 0.005**2 + 0 * x,
    instances=chart(x=uniform(0, 1), y=uniform(0, 1)),
    expected=Verdict.REFUTED,
    false_neighbours=(),
)

LIMIT = Theorem(
    name="toy.limit",
    title="(x + eps)^2 -> x^2",
    source=Source("ours"),
    statement=r"(x+\epsilon)^2 \to x^2",
    relation=Relation.TENDS,
    lhs=lambda x, eps: (x + eps) ** 2,
    rhs=lambda x: x**2,
    instances=chart(x=uniform(0, 1)),
    expected=Verdict.HOLDS,
    tolerance=1e-4,
    false_neighbours=(neighbour("to x", rhs=lambda x: x),),
)
