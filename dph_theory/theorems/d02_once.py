"""D2, fourth claim: for k = 1 nothing is gained by spreading, the expected number is the validity."""

from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .d02_schur import distinct, distinct_averaged


def in_one_draw(q, valid):
    return distinct(q, valid, 1)


def in_one_draw_averaged(q, valid, share):
    return distinct_averaged(q, valid, 1, share)


THEOREM = Theorem(
    name="D2.once",
    title="With one draw a T-transform of two valid masses changes nothing: k >= 2 is needed",
    source=Source("ours", "concavity"),
    statement=r"D_1(Tq) = D_1(q) = q(Y_1)",
    relation=Relation.EQUAL,
    lhs=in_one_draw,
    rhs=in_one_draw_averaged,
    instances=chart(q=simplex(4), valid=masks(4), share=uniform(0.01, 0.99)),
    expected=Verdict.CERTIFIED,
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], share=".5"),),
    false_neighbours=(
        neighbour(
            "the same with two draws",
            lhs=lambda q, valid: distinct(q, valid, 2),
            rhs=lambda q, valid, share: distinct_averaged(q, valid, 2, share),
        ),
    ),
)
