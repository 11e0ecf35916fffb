"""C4: in a token MDP the returns are no further apart than the sequences: kl(J_ref||J) <= KL_seq."""

from functools import partial

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import (
    on_policy_token_divergence,
    sequence_divergence,
    success_and_failure,
    token_divergence,
)
from ._tokens import REWARDED, REWARDED_PAIR


def kl_of_returns(
    ref_first: Values, ref_second: Values, pi_first: Values, pi_second: Values, reward: Values
) -> Values:
    reference = success_and_failure(ref_first, ref_second, reward)
    return REVERSE_KL(reference, success_and_failure(pi_first, pi_second, reward))[..., None]


def both_kls(pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values) -> Values:
    """The sequence KL, and the sum of the token forward KLs that a rehearsal loss adds up."""
    parts = pi_first, pi_second, ref_first, ref_second
    return np.stack([kl(FORWARD_KL, *parts) for kl in (sequence_divergence, token_divergence)], axis=-1)


def first_token(pi_first: Values, ref_first: Values) -> Values:
    return FORWARD_KL(pi_first, ref_first)[..., None]


def reverse_kl(pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values) -> Values:
    return token_divergence(FORWARD_KL, ref_first, ref_second, pi_first, pi_second)[..., None]


THEOREM = Theorem(
    name="C4.reference",
    title="kl(J(pi_pef) || J(pi)) <= KL_seq(pi_pef || pi), for rewards in [0, 1]",
    source=Source("ours"),
    statement=r"\mathrm{kl}(J(\pi_{pef})\|J(\pi)) \le \mathrm{KL}_{seq}(\pi_{pef}\|\pi) ="
    r" \sum_t E_{\pi_{pef}}\,\mathrm{KL}(\pi_{pef}(\cdot|y_{<t})\|\pi(\cdot|y_{<t})),\quad v \in [0,1]",
    relation=Relation.AT_MOST,
    lhs=kl_of_returns,
    rhs=both_kls,
    instances=REWARDED,
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(REWARDED_PAIR,),
    false_neighbours=(
        neighbour("a bound one fifth smaller", rhs=scaled(both_kls, 0.8)),
        neighbour("the first token alone", rhs=first_token),
        neighbour(
            "tokens on the policy's own prefixes add up to the sequence KL",
            relation=Relation.EQUAL,
            lhs=partial(sequence_divergence, FORWARD_KL),
            rhs=partial(on_policy_token_divergence, FORWARD_KL),
        ),
        neighbour("the reverse KL", rhs=reverse_kl),
    ),
)
