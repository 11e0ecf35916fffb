"""B5: the alpha token sum is no upper bound of the sequence divergence, alpha = 1/2."""

from functools import partial

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ._tokens import BRANCH_AT_FIRST, TWO_TOKENS

HALF = alpha_divergence(0.5)

THEOREM = Theorem(
    name="B5.alpha_exceeds",
    title="alpha = 1/2 of sequences at most the token sum: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"D_\alpha(\pi\|\pi_{ref}) \le \sum_t E_{y_{<t}\sim\pi_{ref}}"
    r" D_\alpha(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t})),\quad \alpha = \tfrac12",
    relation=Relation.AT_MOST,
    lhs=partial(sequence_divergence, HALF),
    rhs=partial(token_divergence, HALF),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_FIRST,),
    false_neighbours=(
        neighbour("prefixes sampled from the policy", rhs=partial(on_policy_token_divergence, HALF)),
        neighbour("the token sum 40% larger", rhs=scaled(partial(token_divergence, HALF), 1.4)),
    ),
    note="Prefixes that the policy visits and the reference does not are missing from the token sum, so the"
    " sequence divergence can exceed it. For forward KL the two are equal (B5.chain), for product measures"
    " the token sum is the larger (B5.product).",
)
