"""B5: the Jensen-Shannon token sum is no upper bound of the sequence divergence."""

from ..divergences import JENSEN_SHANNON
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b05_chain import TWO_TOKENS, of_sequences, of_tokens, under_policy_prefixes

BRANCH_AT_FIRST = example(
    pi_first=".9 .1", pi_second=[".9 .1", ".5 .5"], ref_first=".1 .9", ref_second=[".1 .9", ".5 .5"]
)
"""Policy and reference differ after the first symbol only, which the policy prefers and ref avoids."""

THEOREM = Theorem(
    name="B5.js_exceeds",
    title="Jensen-Shannon of sequences at most the token sum: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"D_{JS}(\pi\|\pi_{ref}) \le \sum_t E_{y_{<t}\sim\pi_{ref}}"
    r" D_{JS}(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))",
    relation=Relation.AT_MOST,
    lhs=of_sequences(JENSEN_SHANNON),
    rhs=of_tokens(JENSEN_SHANNON),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_FIRST,),
    false_neighbours=(
        neighbour("prefixes sampled from the policy", rhs=under_policy_prefixes(JENSEN_SHANNON)),
        neighbour("the token sum 5% larger", rhs=of_tokens(JENSEN_SHANNON, factor=1.05)),
    ),
    note="Prefixes that the policy visits and the reference does not are missing from the token sum, so the"
    " sequence divergence can exceed it. For forward KL the two are equal (B5.chain), for product measures"
    " the token sum is the larger (B5.product).",
)
