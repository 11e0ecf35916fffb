"""F1, refuted for sequences: k2 in the loss has the gradient of k1 in the reward."""

from ..estimators import K2
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._tokens import FIRST_AND_SECOND, FIRST_DIFFERS, first_token_gradient, kl_to_come


def in_the_loss(first: Values, ref_first: Values) -> Values:
    """The first token's expected gradient, prefixes as sampled."""
    return K2.loss_gradient(first, ref_first)


def with_half_to_come(first: Values, second: Values, ref_first: Values, ref_second: Values) -> Values:
    return in_the_loss(first, ref_first) + kl_to_come(first, second, ref_second, 0.5)


THEOREM = Theorem(
    name="F1.loss",
    title="k2 in the loss equals k1 in the reward: refuted for sequences",
    source=Source("liu2025rethinking", "as summarised; the paper was not read"),
    statement=r"\nabla \textstyle\sum_t E_{s_t}\tfrac12\log^2\tfrac{\pi}{\pi_{ref}} = \nabla\,"
    r"\mathrm{KL}(\pi\|\pi_{ref}) \text{ of whole answers}",
    relation=Relation.EQUAL,
    lhs=in_the_loss,
    rhs=first_token_gradient,
    instances=FIRST_AND_SECOND,
    expected=Verdict.REFUTED,
    examples=(FIRST_DIFFERS,),
    false_neighbours=(
        neighbour("half of the KL to come is in it", lhs=with_half_to_come),
        near(0.01, {"lhs": first_token_gradient}, first=(0.36, 0.0003)),
    ),
    note="True for answers of one token (B6.squared). For sequences the loss leaves out the KL of the tokens"
    " to come (F1.future), and its law is another one (E2, E3).",
)
