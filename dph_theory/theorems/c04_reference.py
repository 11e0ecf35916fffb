"""C4: in a token MDP the returns are no further apart than the sequences: kl(J_ref||J) <= KL_seq."""

import numpy as np

from ..divergences import FORWARD_KL, REVERSE_KL
from ..references import Source
from ..statement.charts import chart, example, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b05_chain import of_sequences, of_tokens, sequences, under_policy_prefixes

REHEARSALS = chart(
    ref_first=simplex(2),
    ref_second=simplex(2, 2),
    pi_first=simplex(2),
    pi_second=simplex(2, 2),
    reward=uniform(0, 1, 4),
)
"""Two tokens of a vocabulary of two, and a reward in [0, 1] for each of the four sequences."""
REHEARSAL = example(
    ref_first=".8 .2",
    ref_second=[".9 .1", ".5 .5"],
    pi_first=".6 .4",
    pi_second=[".7 .3", ".2 .8"],
    reward="1 .25 0 .75",
)

kl_of_sequences = of_sequences(FORWARD_KL)
kl_of_tokens = of_tokens(FORWARD_KL)


def success(first, second, reward):
    """(J, 1-J), each summed on its own, so that neither loses its digits near 0."""
    law = sequences(first, second)
    return np.stack([(law * reward).sum(axis=-1), (law * (1 - reward)).sum(axis=-1)], axis=-1)


def kl_of_returns(ref_first, ref_second, pi_first, pi_second, reward):
    reference = success(ref_first, ref_second, reward)
    return REVERSE_KL(reference, success(pi_first, pi_second, reward))[..., None]


def both_kls(pi_first, pi_second, ref_first, ref_second):
    """The sequence KL, and the sum of the token forward KLs that a rehearsal loss adds up."""
    parts = pi_first, pi_second, ref_first, ref_second
    return np.stack([kl_of_sequences(*parts), kl_of_tokens(*parts)], axis=-1)


def a_third_less(pi_first, pi_second, ref_first, ref_second):
    return 2 / 3 * both_kls(pi_first, pi_second, ref_first, ref_second)


def first_token(pi_first, ref_first):
    return FORWARD_KL(pi_first, ref_first)[..., None]


def reverse_kl(pi_first, pi_second, ref_first, ref_second):
    return kl_of_tokens(ref_first, ref_second, pi_first, pi_second)[..., None]


THEOREM = Theorem(
    name="C4.reference",
    title="kl(J(pi_pef) || J(pi)) <= KL_seq(pi_pef || pi), for rewards in [0, 1]",
    source=Source("ours"),
    statement=r"\mathrm{kl}(J(\pi_{pef})\|J(\pi)) \le \mathrm{KL}_{seq}(\pi_{pef}\|\pi) ="
    r" \sum_t E_{\pi_{pef}}\,\mathrm{KL}(\pi_{pef}(\cdot|y_{<t})\|\pi(\cdot|y_{<t})),\quad v \in [0,1]",
    relation=Relation.AT_MOST,
    lhs=kl_of_returns,
    rhs=both_kls,
    instances=REHEARSALS,
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(REHEARSAL,),
    false_neighbours=(
        neighbour("a bound one third smaller", rhs=a_third_less),
        neighbour("the first token alone", rhs=first_token),
        neighbour(
            "tokens on the policy's own prefixes add up to the sequence KL",
            relation=Relation.EQUAL,
            lhs=kl_of_sequences,
            rhs=under_policy_prefixes(FORWARD_KL),
        ),
        neighbour("the reverse KL", rhs=reverse_kl),
    ),
)
