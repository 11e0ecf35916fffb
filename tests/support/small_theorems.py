"""Small theorems, true and false, on which the checks themselves are tested."""

from dph_theory import FORWARD_KL, TOTAL_VARIATION
from dph_theory.references import Source
from dph_theory.verification.charts import chart, example, simplex, uniform
from dph_theory.verification.statement import neighbour, refuted, theorem

BINOMIAL = theorem(
    "(x+y)^2 = x^2 + 2xy + y^2",
    name="toy.binomial",
    statement=r"(x+y)^2 = x^2 + 2xy + y^2",
    source=Source("ours"),
    on=chart(x=uniform(0, 1), y=uniform(0, 1)),
    equal=(lambda x, y: (x + y) ** 2, lambda x, y: x**2 + 2 * x * y + y**2),
    examples=(example(x=".5", y=".25", value=".5625"),),
    false=(neighbour("cross term halved", rhs=lambda x, y: x**2 + x * y + y**2),),
)

PINSKER = theorem(
    "TV^2 <= KL/2",
    name="toy.pinsker",
    statement=r"TV^2 \le KL/2",
    source=Source("gilardoni2010pinsker"),
    on=chart(pi=simplex(2), ref=simplex(2)),
    at_most=(lambda pi, ref: TOTAL_VARIATION(pi, ref) ** 2, lambda pi, ref: FORWARD_KL(pi, ref) / 2),
    examples=(example(pi=".51 .49", ref=".5 .5", lhs=".0001", rhs=".000100020005334934"),),
    floor=1e-12,
    false=(
        neighbour(
            "constant cut by 2%",
            at=example(pi=".51 .49", ref=".5 .5"),
            rhs=lambda pi, ref: 0.98 * FORWARD_KL(pi, ref) / 2,
        ),
    ),
)

NEEDLE = refuted(
    "A bound that fails only within 0.005 of one point",
    name="toy.needle",
    statement=r"1 - |z - c|^2 \le 1 - 0.005^2",
    source=Source("ours"),
    on=chart(x=uniform(0, 1), y=uniform(0, 1)),
    at_most=(lambda x, y: 1 - (x - 0.3) ** 2 - (y - 0.7) ** 2, lambda x: 1 - 0.005**2 + 0 * x),
    examples=(example(x=".3", y=".7"),),
    false=(neighbour("by one more", rhs=lambda x: -(0.005**2) + 0 * x),),
)

LIMIT = theorem(
    "(x + eps)^2 -> x^2",
    name="toy.limit",
    statement=r"(x+\epsilon)^2 \to x^2",
    source=Source("ours"),
    on=chart(x=uniform(0, 1)),
    tends=(lambda x, eps: (x + eps) ** 2, lambda x: x**2),
    tolerance=1e-4,
    examples=(example(x=".5", rhs=".25"),),
    false=(neighbour("to x", rhs=lambda x: x),),
)
