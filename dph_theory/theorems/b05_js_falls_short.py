"""B5: the Jensen-Shannon token sum is no lower bound of the sequence divergence."""

from ..divergences import JENSEN_SHANNON
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b05_chain import TWO_TOKENS, of_sequences, of_tokens, under_policy_prefixes

BRANCH_AT_SECOND = example(
    pi_first=".9 .1", pi_second=[".5 .5", ".9 .1"], ref_first=".1 .9", ref_second=[".5 .5", ".1 .9"]
)
"""Policy and reference differ after the second symbol only, which the policy avoids and ref prefers."""

THEOREM = Theorem(
    name="B5.js_falls_short",
    title="Jensen-Shannon token sum at most that of sequences: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} D_{JS}(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))"
    r" \le D_{JS}(\pi\|\pi_{ref})",
    relation=Relation.AT_MOST,
    lhs=of_tokens(JENSEN_SHANNON),
    rhs=of_sequences(JENSEN_SHANNON),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_SECOND,),
    false_neighbours=(
        neighbour("prefixes sampled from the policy", lhs=under_policy_prefixes(JENSEN_SHANNON)),
        neighbour("the token sum cut by 5%", lhs=of_tokens(JENSEN_SHANNON, factor=0.95)),
    ),
    note="Once the first token has told policy and reference apart, a second difference adds little to the"
    " sequence divergence and its full amount to the token sum. The sum is the larger one for product"
    " measures (B5.product), and exact for forward KL (B5.chain).",
)
