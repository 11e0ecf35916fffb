"""B5, first claim: forward KL of sequences is the sum of token forward KLs under reference prefixes."""

from functools import partial

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..references import Source
from ..statement.charts import example
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ..tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ._tokens import STRINGS


def derivation() -> Claims:
    # One sequence: a prefix of any length, of masses p and q, and its next token. The log ratio splits.
    # Summed over the token the first part leaves the prefix's own term, as its q_x sum to one; the second
    # is the token's term, weighted by q. By induction over the length the sequence's term is the sum of its
    # tokens' terms.
    p, q, p_given, q_given = sympy.symbols("p q p_x q_x", positive=True)
    longer = q * q_given * sympy.log(q * q_given / (p * p_given))
    prefix = q_given * q * sympy.log(q / p)
    token = q * (q_given * sympy.log(q_given / p_given))
    yield Claim("a prefix of any length and its next token", longer, equals=prefix + token)


THEOREM = Theorem(
    name="B5.chain",
    title="Forward KL of sequences is the sum of token forward KLs under reference prefixes",
    source=Source("li2025choice", "chain rule"),
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} \mathrm{KL}(\pi_{ref}(\cdot|y_{<t})\|\pi(\cdot|y_{<t}))"
    r" = \mathrm{KL}(\pi_{ref}\|\pi)",
    relation=Relation.EQUAL,
    lhs=partial(token_divergence, FORWARD_KL),
    rhs=partial(sequence_divergence, FORWARD_KL),
    instances=STRINGS,
    expected=Verdict.PROVED,
    examples=(
        example(
            pi_first=".6 .3 .1",
            pi_second=[".5 .4 .1", ".7 .2 .1"],
            pi_third=[[".5 .3 .2", ".2 .6 .2"], [".3 .3 .4", ".6 .2 .2"]],
            ref_first=".3 .5 .2",
            ref_second=[".2 .5 .3", ".6 .3 .1"],
            ref_third=[[".4 .4 .2", ".3 .3 .4"], [".2 .6 .2", ".5 .3 .2"]],
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("prefixes sampled from the policy", lhs=partial(on_policy_token_divergence, FORWARD_KL)),
        neighbour(
            "reverse KL under reference prefixes",
            lhs=partial(token_divergence, REVERSE_KL),
            rhs=partial(sequence_divergence, REVERSE_KL),
        ),
        masses_clamped("ref_third", 1e-9),
    ),
)
