"""F1, refuted for sequences: k2 in the loss has the gradient of k1 in the reward."""

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

PAIRS = chart(first=simplex(3), second=simplex(3, 3), ref_first=simplex(3), ref_second=simplex(3, 3))
EXAMPLE = example(first=".6 .4", second=[".5 .5", ".7 .3"], ref_first=".3 .7", ref_second=[".2 .8", ".6 .4"])


def in_the_loss(first: Values, ref_first: Values) -> Values:
    """The first token's expected gradient of k2 in the loss, prefixes as sampled: of its own KL alone."""
    return REVERSE_KL.gradient(first, ref_first)


def in_the_reward(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    """The gradient of KL(pi || ref) of whole answers in the first token's logits."""
    return REVERSE_KL.gradient(first, ref_first) + to_come(first, second, ref_second)


def to_come(first: Values, second: Values, ref_second: Values, factor: float = 1) -> Values:
    later = factor * REVERSE_KL(second, ref_second)
    return first * (later - (first * later).sum(axis=-1, keepdims=True))


THEOREM = Theorem(
    name="F1.loss",
    title="k2 in the loss equals k1 in the reward: refuted for sequences",
    source=Source("liu2025rethinking", "as summarised; the paper was not read"),
    statement=r"\nabla \textstyle\sum_t E_{s_t}\tfrac12\log^2\tfrac{\pi}{\pi_{ref}} = \nabla\,"
    r"\mathrm{KL}(\pi\|\pi_{ref}) \text{ of whole answers}",
    relation=Relation.EQUAL,
    lhs=in_the_loss,
    rhs=in_the_reward,
    instances=PAIRS,
    expected=Verdict.REFUTED,
    examples=(EXAMPLE,),
    false_neighbours=(
        neighbour(
            "half of the KL to come is in it",
            lhs=lambda first, second, ref_first, ref_second: (
                in_the_loss(first, ref_first) + to_come(first, second, ref_second, 0.5)
            ),
        ),
        near(0.01, {"lhs": in_the_reward}, first=(0.36, 0.0003)),
    ),
    note="True for answers of one token (B6.squared). For sequences the loss leaves out the KL of the tokens"
    " to come (F1.future), and its law is another one (E2, E3).",
)
