"""C4: in a token MDP the returns are no further apart than the sequences: kl(J_ref||J) <= KL_seq."""

from functools import partial
from typing import Any

import numpy as np
from flint import arb

from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, linear, logarithmic
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import (
    on_policy_token_divergence,
    sequence_divergence,
    success_and_failure,
    token_divergence,
)
from ._boxes import Law, both_ways, kl_to_second, mass
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


def first_token_decides(reference: Law, policy: Law, reward: Scalar) -> dict[str, Any]:
    even = [[arb(0.5), arb(0.5)]] * 2
    # The reward goes to the symbol that the policy takes less often, in either order of the symbols.
    rarer = policy[0] < reference[0]
    rewards = [reward, reward, arb(0), arb(0)] if rarer else [arb(0), arb(0), reward, reward]
    return {
        "ref_first": reference,
        "ref_second": even,
        "pi_first": policy,
        "pi_second": even,
        "reward": rewards,
    }


def kl_less_kl_of_returns(odds: Scalar, drop: Scalar, reward: Scalar) -> list[Scalar]:
    # Over p: -log(1-s) - log(1+os)/o, less the same of the odds of the return p r.
    returned = reward / (1 / odds + 1 - reward)
    gap = kl_to_second(odds, drop) - reward * kl_to_second(returned, drop)
    return [gap, gap]


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
    expected=Verdict.ENCLOSED,
    tight=True,
    examples=(REWARDED_PAIR,),
    reductions=both_ways(
        "laws that differ in the first token alone, and a reward r for its first symbol alone",
        {"odds": logarithmic("0.1", "10"), "drop": linear("0", "0.8"), "reward": linear("0.2", "0.8")},
        first_token_decides,
        gap=kl_less_kl_of_returns,
        factor=mass,
        zero=("drop", 2),
    ),
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
