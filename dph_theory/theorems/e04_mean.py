"""E4, fourth claim: divided by the group's mean (MaxRL) the weight is [1 - (1-V)^(G-1)]/V."""

import numpy as np
import sympy

from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE, scalar_weight
from ._laws import expected_weights

SIZES = (2, 3, 8)


def weights(validity: Values) -> Values:
    return trailing(validity, 1) * expected_weights(SIZES, validity, "mean")


def geometric(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** (size - 1) for size in SIZES], axis=-1)


def geometric_of_the_group(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** size for size in SIZES], axis=-1)


def derivation() -> Claims:
    # A(valid) with k others valid is G/(k+1) - 1, A(invalid) is -1 but for k = 0, where it is 0: the gain is
    # G/(k+1), less 1 at k = 0. Its mean, by the first claim, is [sum_{j>=1} C(G,j) V^j (1-V)^(G-j)]/V less
    # (1-V)^(G-1), and the sum is 1 - (1-V)^G (L1.binomial).
    G, k = sympy.symbols("G k", integer=True, positive=True)
    moved = sympy.binomial(G - 1, k) * G / (k + 1)
    yield Claim("C(G-1, k) G/(k+1) = C(G, k+1)", moved, equals=sympy.binomial(G, k + 1), where=(k < G,))
    V, n = sympy.symbols("V n", positive=True)
    r = 1 - V
    weight = (1 - r ** (n + 1)) / V - r**n
    domain = (V < 1,)
    yield Claim("the mean, G = n + 1", V * weight, equals=1 - r**n, where=domain)
    # The slope of [1-(1-V)^k]/k is (1-V)^(k-1): a geometric sum, by induction over its length n.
    slope = sympy.Derivative((1 - (1 - V) ** n) / n, V)
    yield Claim("the slope of pass@k/k", slope, equals=r ** (n - 1), where=domain)
    geometric = (1 - r**n) / V + r**n
    yield Claim("one more term of the sum", geometric, equals=(1 - r ** (n + 1)) / V, where=domain)
    yield Claim("and its first", (1 - r) / V, equals=1)


THEOREM = Theorem(
    name="E4.mean",
    title="(r - mean)/mean weighs by [1 - (1-V)^(G-1)]/V, the slope of sum_{k<G} pass@k/k",
    source=Source("ours", "group normalisation; the advantage: tajwar2026maxrl"),
    statement=r"V \alpha_G(V) = 1 - (1-V)^{G-1} = V \tfrac{d}{dV}"
    r" \textstyle\sum_{k=1}^{G-1} \tfrac{1-(1-V)^k}{k}",
    relation=Relation.EQUAL,
    lhs=weights,
    rhs=geometric,
    instances=chart(validity=rates(low=1e-4, high=1e-4)),
    expected=Verdict.PROVED,
    given=("L1.binomial",),
    examples=(example(validity=".25"),),
    symbolic=derivation,
    digits=6,
    reductions=(
        Reduction(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=lambda validity: [
                (validity * scalar_weight(size, validity, "mean"), 1 - (1 - validity) ** (size - 1))
                for size in SIZES
            ],
        ),
    ),
    false_neighbours=(
        neighbour("G in the exponent", rhs=geometric_of_the_group),
        near(0.01, validity=(0.52, 9e-05)),
    ),
)
