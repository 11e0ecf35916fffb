"""B5: the alpha token sum is no lower bound of the sequence divergence, alpha = 1/2."""

from functools import partial

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ._tokens import BRANCH_AT_SECOND, TWO_TOKENS

HALF = alpha_divergence(0.5)

THEOREM = Theorem(
    name="B5.alpha_falls_short",
    title="alpha = 1/2 token sum at most that of sequences: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} D_\alpha(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))"
    r" \le D_\alpha(\pi\|\pi_{ref}),\quad \alpha = \tfrac12",
    relation=Relation.AT_MOST,
    lhs=partial(token_divergence, HALF),
    rhs=partial(sequence_divergence, HALF),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_SECOND,),
    false_neighbours=(
        neighbour("prefixes sampled from the policy", lhs=partial(on_policy_token_divergence, HALF)),
        neighbour("the token sum cut by 55%", lhs=scaled(partial(token_divergence, HALF), 0.45)),
    ),
    note="Once the first token has told policy and reference apart, a second difference adds little to the"
    " sequence divergence and its full amount to the token sum. The sum is the larger one for product"
    " measures (B5.product), and exact for forward KL (B5.chain).",
)
