"""E4, fourth claim: divided by the group's mean (MaxRL) the weight is [1 - (1-V)^(G-1)]/V."""

import numpy as np
import sympy

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import expected_weight

SIZES = (2, 3, 8)


def weights(validity: Values) -> Values:
    return np.stack([validity * expected_weight(size, validity, "mean") for size in SIZES], axis=-1)


def geometric(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** (size - 1) for size in SIZES], axis=-1)


def geometric_of_the_group(validity: Values) -> Values:
    return np.stack([1 - (1 - validity) ** size for size in SIZES], axis=-1)


def derivation() -> Claims:
    # A(valid) with k others valid is G/(k+1) - 1, A(invalid) is -1 but for k = 0.
    V = sympy.Symbol("V", positive=True)
    for size in (2, 3, 4, 6):
        chance = [sympy.binomial(size - 1, k) * V**k * (1 - V) ** (size - 1 - k) for k in range(size)]
        gain = [sympy.Rational(size, k + 1) - 1 + (1 if k else 0) for k in range(size)]
        weight = sum(c * g for c, g in zip(chance, gain, strict=True))
        yield Claim(f"G = {size}", sympy.expand(weight * V - 1 + (1 - V) ** (size - 1)))


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
    examples=(example(validity=".25"),),
    symbolic=derivation,
    digits=6,
    false_neighbours=(neighbour("G in the exponent", rhs=geometric_of_the_group),),
)
