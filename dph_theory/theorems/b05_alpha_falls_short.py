"""B5: the alpha token sum is no lower bound of the sequence divergence, alpha = 1/2."""

from ..divergences import alpha_divergence
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b05_chain import TWO_TOKENS, of_sequences, of_tokens, under_policy_prefixes
from .b05_js_falls_short import BRANCH_AT_SECOND

HALF = alpha_divergence(0.5)

THEOREM = Theorem(
    name="B5.alpha_falls_short",
    title="alpha = 1/2 token sum at most that of sequences: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} D_\alpha(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))"
    r" \le D_\alpha(\pi\|\pi_{ref}),\quad \alpha = \tfrac12",
    relation=Relation.AT_MOST,
    lhs=of_tokens(HALF),
    rhs=of_sequences(HALF),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_SECOND,),
    false_neighbours=(
        neighbour("prefixes sampled from the policy", lhs=under_policy_prefixes(HALF)),
        neighbour("the token sum cut by 5%", lhs=of_tokens(HALF, factor=0.95)),
    ),
    note="Once the first token has told policy and reference apart, a second difference adds little to the"
    " sequence divergence and its full amount to the token sum. The sum is the larger one for product"
    " measures (B5.product), and exact for forward KL (B5.chain).",
)
