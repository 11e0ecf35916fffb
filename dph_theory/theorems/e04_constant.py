"""E4, second claim: groups of two and three weigh every validity alike; groups of four no longer do."""

import numpy as np
import sympy
from flint import arb

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE, scalar_weight
from ._laws import expected_weight, expected_weights


def constants(validity: Values) -> Values:
    one = 1 + 0 * validity
    return np.stack([1 / np.sqrt(2 * one), 2 / np.sqrt(3 * one)], axis=-1)


def derivation() -> Claims:
    V = sympy.Symbol("V", positive=True)
    half, third = sympy.sqrt(2) / 2, sympy.sqrt(3) / 3
    # Two: the other differs. Three: both others differ, or one of them: 2/3 against 1/3 over 1/sqrt 3.
    yield Claim("G = 2", (1 - V) * half + V * half, equals=1 / sympy.sqrt(2))
    mixed = 2 * V * (1 - V) * (third + third)
    yield Claim("G = 3", (1 - V) ** 2 * 2 * third + mixed + V**2 * 2 * third, equals=2 / sympy.sqrt(3))


THEOREM = Theorem(
    name="E4.constant",
    title="alpha_2 = 1/sqrt 2 and alpha_3 = 2/sqrt 3 whatever the validity",
    source=Source("ours", "group normalisation"),
    statement=r"\alpha_2(V) = 1/\sqrt2,\quad \alpha_3(V) = 2/\sqrt3",
    relation=Relation.EQUAL,
    lhs=lambda validity: expected_weights((2, 3), validity),
    rhs=constants,
    instances=chart(validity=rates(low=1e-4, high=1e-4)),
    expected=Verdict.PROVED,
    examples=(example(validity=".25"),),
    symbolic=derivation,
    digits=6,
    reductions=(
        Reduction(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=lambda validity: [
                (scalar_weight(2, validity), 1 / arb(2).sqrt()),
                (scalar_weight(3, validity), 2 / arb(3).sqrt()),
            ],
        ),
    ),
    false_neighbours=(
        neighbour(
            "alpha_4 = 3/2 whatever the validity",
            lhs=lambda validity: expected_weight(4, validity)[..., None],
            rhs=lambda validity: 1.5 + 0 * validity[..., None],
        ),
        near(0.01, validity=(0.52, 9e-05)),
    ),
)
