"""D2, fourth claim: for k = 1 nothing is gained by spreading, the expected number is the validity."""

from typing import Any

from ..coverage import averaged
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE
from ._lemmas import distinct_with_two


def in_one_draw(q: Values, valid: Values) -> Values:
    return distinct_with_two(q, valid, 1)


def in_one_draw_averaged(q: Values, valid: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, 1)


def two_valid(mu: Scalar, inner: Scalar, share: Scalar) -> dict[str, Any]:
    return {"q": [mu * inner, mu * (1 - inner), 1 - mu], "valid": [True, True, False], "share": share}


def totals(mu: Scalar, inner: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    x, y = mu * inner, mu * (1 - inner)
    return [(x + y, (1 - share) * x + share * y + share * x + (1 - share) * y)]


THEOREM = Theorem(
    name="D2.once",
    title="With one draw a T-transform of two valid masses changes nothing: k >= 2 is needed",
    source=Source("ours", "concavity"),
    statement=r"D_1(Tq) = D_1(q) = q(Y_1)",
    relation=Relation.EQUAL,
    lhs=in_one_draw,
    rhs=in_one_draw_averaged,
    instances=chart(q=simplex(4), valid=masks(4), share=uniform(0.01, 0.99)),
    expected=Verdict.ENCLOSED,
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], share=".5"),),
    reductions=(
        Reduction(
            "two valid outcomes, one invalid",
            {"mu": SHARE, "inner": SHARE, "share": linear("0.01", "0.99")},
            two_valid,
            sides=totals,
        ),
    ),
    false_neighbours=(
        neighbour(
            "the same with two draws",
            lhs=lambda q, valid: distinct_with_two(q, valid, 2),
            rhs=lambda q, valid, share: distinct_with_two(averaged(q, share, 0, 1), valid, 2),
        ),
        near(0.01, share=(0.59, 0.0001)),
    ),
)
