"""B5: the Jensen-Shannon token sum is no upper bound of the sequence divergence."""

from functools import partial

from ..divergences import JENSEN_SHANNON
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ._tokens import BRANCH_AT_FIRST, TWO_TOKENS

THEOREM = Theorem(
    name="B5.js_exceeds",
    title="Jensen-Shannon of sequences at most the token sum: refuted",
    source=Source("ours", "token against sequence"),
    statement=r"D_{JS}(\pi\|\pi_{ref}) \le \sum_t E_{y_{<t}\sim\pi_{ref}}"
    r" D_{JS}(\pi(\cdot|y_{<t})\|\pi_{ref}(\cdot|y_{<t}))",
    relation=Relation.AT_MOST,
    lhs=partial(sequence_divergence, JENSEN_SHANNON),
    rhs=partial(token_divergence, JENSEN_SHANNON),
    instances=TWO_TOKENS,
    expected=Verdict.REFUTED,
    examples=(BRANCH_AT_FIRST,),
    false_neighbours=(
        neighbour(
            "prefixes sampled from the policy", rhs=partial(on_policy_token_divergence, JENSEN_SHANNON)
        ),
        neighbour("the token sum 25% larger", rhs=scaled(partial(token_divergence, JENSEN_SHANNON), 1.25)),
    ),
    note="Prefixes that the policy visits and the reference does not are missing from the token sum, so the"
    " sequence divergence can exceed it. For forward KL the two are equal (B5.chain), for product measures"
    " the token sum is the larger (B5.product).",
)
