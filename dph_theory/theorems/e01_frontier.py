"""E1, second claim: no law of that validity is closer to the base, whatever the divergence."""

from typing import Any

import numpy as np
import sympy

from ..binary_reward import valid_mass
from ..divergences import SMOOTH, each
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import Law, chance
from ._generators import merging


def of_verdicts(q: Values, base: Values, valid: Values) -> Values:
    masses = [np.stack([valid_mass(law, part) for part in (valid, ~valid)], axis=-1) for law in (q, base)]
    return each(lambda divergence: divergence(*masses), SMOOTH)


def of_answers(q: Values, base: Values, valid: Values) -> Values:
    return each(lambda divergence: divergence(q, base), SMOOTH)


def derivation() -> Claims:
    # Of the answers of one verdict, of base mass A and weights a/A: A times f at their mean ratio is at most
    # A times the mean of f (L1.jensen, B1.convex).
    a, q, A = sympy.symbols("a q A", positive=True)
    value = sympy.Symbol("f", real=True)
    yield Claim("an answer's part of the mean ratio q(Y)/A", a / A * (q / a), equals=q / A)
    yield Claim("and of A times the mean of f", A * (a / A * value), equals=a * value)


def two_valid(first: Law, second: Law, ratio: Scalar, share: Scalar) -> dict[str, Any]:
    """A base rate share/(1+u), spread as the first law, and u times as much, spread as the second."""
    base_rate = share / (1 + ratio)
    q = [*(ratio * base_rate * mass for mass in second), 1 - ratio * base_rate]
    base = [*(base_rate * mass for mass in first), 1 - base_rate]
    return {"q": q, "base": base, "valid": [True, True, False]}


THEOREM = Theorem(
    name="E1.frontier",
    title="For every f, a law costs at least what its validity costs",
    source=Source("ours", "laws of training; data processing"),
    statement=r"D_f(q\|a) \ge A_1 f(q(Y_1)/A_1) + A_0 f(q(Y_0)/A_0)",
    relation=Relation.AT_MOST,
    lhs=of_verdicts,
    rhs=of_answers,
    instances=chart(q=simplex(4, zeros=True), base=simplex(4), valid=masks(4)),
    expected=Verdict.PROVED,
    given=("B1.convex", "L1.jensen"),
    examples=(example(q=".3 .25 .25 .2", base=".15 .1 .45 .3", valid=[True, True, False, False]),),
    symbolic=derivation,
    tight=True,
    reductions=merging(
        "two valid outcomes, one invalid: their ratios about the mean q(Y1)/A1, whatever A1",
        two_valid,
        lambda odds, ratio, share: share / (1 + ratio) * chance(odds),
    ),
    false_neighbours=(
        neighbour("2% more", lhs=scaled(of_verdicts, 1.02)),
        neighbour(
            "the arguments exchanged on the left", lhs=lambda q, base, valid: of_verdicts(base, q, valid)
        ),
        masses_clamped("base", 5e-6, "lhs"),
    ),
    note="With E1.mixture: the maximiser of E v - beta D_f is mu p_* + (1-mu) p_0 for every f, and f decides"
    " mu alone (E1.dial).",
)
