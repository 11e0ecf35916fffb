"""E4, first claim: the weight that a group-relative advantage gives the gradient of the validity."""

from itertools import product

import numpy as np
import sympy
from flint import arb

from ..divergences import each
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE, scalar_weight
from ._laws import expected_weight

SIZES = (2, 4, 5)


def over_all_groups(validity: Values) -> Values:
    """E[sum_i A_i d log P(v_i)/dV]/G over all 2^G groups, A = (v - mean)/sample deviation, times V (1-V)."""
    return each(lambda size: _expected_update(size, validity), SIZES)


def _expected_update(size: int, validity: Values) -> Values:
    total, one = 0 * validity, 1 + 0 * validity
    for verdicts in product((0, 1), repeat=size):
        won = sum(verdicts)
        if 0 < won < size:
            deviation = np.sqrt(one * won * (size - won) / (size * (size - 1)))
            chance = validity**won * (1 - validity) ** (size - won)
            for verdict in verdicts:
                advantage = (verdict - one * won / size) / deviation
                # V (1-V) times the score: 1 - V where valid, -V where not.
                total = total + chance * advantage * (verdict - validity) / size
    return total


def weighed(validity: Values) -> Values:
    return each(lambda size: validity * (1 - validity) * expected_weight(size, validity), SIZES)


def from_the_whole_group(validity: Values) -> Values:
    """As if a group's G members, and not the G - 1 others, were drawn beside the answer."""
    return each(
        lambda size: validity * (1 - validity) * expected_weight(size + 1, validity) * size / (size + 1),
        SIZES,
    )


def of_the_population(validity: Values) -> Values:
    return each(lambda size: np.sqrt(validity * (1 - validity)), SIZES)


def derivation() -> Claims:
    # The advantages depend on the verdicts alone. Given its own, an answer's score has the mean
    # grad P(v)/P(v) = d log P(v)/dV grad V, as the terms below sum to, and its advantage the mean over the
    # others' verdicts; all answers of a group are alike.
    V = sympy.Symbol("V", positive=True)
    t = sympy.Symbol("t", real=True)
    p = sympy.Function("p", positive=True)(t)
    score = p / V * sympy.Derivative(sympy.log(p), t)
    yield Claim("a valid answer's part of the mean score", score, equals=sympy.Derivative(p, t) / V)
    below = (V < 1,)
    for name, v, chance in (("valid", 1, V), ("invalid", 0, 1 - V)):
        score = (v - V) / (V * (1 - V))
        yield Claim(f"score, {name}", sympy.Derivative(sympy.log(chance), V), equals=score, where=below)
    won, lost = sympy.symbols("won lost", real=True)
    update = V * won * (1 - V) + (1 - V) * lost * (0 - V)
    yield Claim("one answer's update, times V (1-V)", update, equals=V * (1 - V) * (won - lost))


def polynomials(validity: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [
        (_update_of_groups(size, validity), validity * (1 - validity) * scalar_weight(size, validity))
        for size in SIZES
    ]


def _update_of_groups(size: int, validity: Scalar) -> Scalar:
    total = 0 * validity
    for group in product((0, 1), repeat=size):
        won = sum(group)
        if 0 < won < size:
            deviation = (arb(won * (size - won)) / (size * (size - 1))).sqrt()
            chance = validity**won * (1 - validity) ** (size - won)
            gains = ((verdict - arb(won) / size) * (verdict - validity) for verdict in group)
            total += chance * sum(gains) / (deviation * size)
    return total


THEOREM = Theorem(
    name="E4.weight",
    title="A group-relative advantage gives the gradient of V the weight alpha_G(V) = E[A|v=1] - E[A|v=0]",
    source=Source("ours", "group normalisation"),
    statement=r"E\,\tfrac1G\textstyle\sum_i A_i \nabla\log\pi(y_i) = \alpha_G(V) \nabla V,\quad"
    r" \alpha_G(V) = E[A|v=1] - E[A|v=0],\text{ the others' successes Binomial}(G-1, V)",
    relation=Relation.EQUAL,
    lhs=over_all_groups,
    rhs=weighed,
    instances=chart(validity=rates(low=1e-4, high=1e-4)),
    expected=Verdict.PROVED,
    examples=(example(validity=".25"),),
    symbolic=derivation,
    floor=1e-6,
    digits=6,
    reductions=(
        Reduction(
            "all of the chart's validities",
            {"validity": SHARE},
            lambda validity: {"validity": validity},
            sides=polynomials,
        ),
    ),
    false_neighbours=(
        neighbour("the population form 1/sqrt(V(1-V))", rhs=of_the_population),
        neighbour("G others in the place of G - 1", rhs=from_the_whole_group),
        near(0.01, validity=(0.52, 9e-05)),
    ),
)
