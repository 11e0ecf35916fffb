"""C4: in a token MDP the returns are no further apart than the sequences: kl(J_ref||J) <= KL_seq."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from flint import arb

from ..divergences import FORWARD_KL, REVERSE_KL
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Claims, Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import on_policy_token_divergence, sequence_divergence, success_and_failure, token_divergence
from ._boxes import DROP, ODDS, RATE, Law, both_ways, chance, kl_to_second
from ._lemmas import toss_for_success
from ._tokens import REWARDED, REWARDED_PAIR


def kl_of_returns(ref_tokens: list[Values], pi_tokens: list[Values], reward: Values) -> Values:
    reference = success_and_failure(ref_tokens, reward)
    return REVERSE_KL(reference, success_and_failure(pi_tokens, reward))[..., None]


def both_kls(pi_tokens: list[Values], ref_tokens: list[Values]) -> Values:
    """The sequence KL, and the sum of the token forward KLs that a rehearsal loss adds up."""
    parts = pi_tokens, ref_tokens
    return np.stack([kl(FORWARD_KL, *parts) for kl in (sequence_divergence, token_divergence)], axis=-1)


def first_token(pi_first: Values, ref_first: Values) -> Values:
    return FORWARD_KL(pi_first, ref_first)[..., None]


def reverse_kl(pi_tokens: list[Values], ref_tokens: list[Values]) -> Values:
    return token_divergence(FORWARD_KL, ref_tokens, pi_tokens)[..., None]


def derivation() -> Claims:
    # The return is what is left of the sequences, each with a toss for success, when they are merged: the KL
    # of returns is no larger (B1.processing). The KL of sequences is the tokens' sum (B5.chain).
    yield from toss_for_success()


def first_token_decides(reference: Law, policy: Law, reward: Scalar) -> dict[str, Any]:
    """Laws of the first symbol, given those of which symbol a failure begins with; the first earns r."""

    def before(failures: Law) -> Law:
        first = failures[0] / (1 - reward)
        return [first / (first + failures[1]), failures[1] / (first + failures[1])]

    even = [[arb(0.5), arb(0.5)]] * 2
    return {
        "ref_first": before(reference),
        "ref_second": even,
        "pi_first": before(policy),
        "pi_second": even,
        "reward": [reward, reward, arb(0), arb(0)],
    }


def failing(exchanged: bool) -> Callable[[Scalar, Scalar], list[Scalar]]:
    """The reference's chance of a failure with the symbol that falls, the second one if exchanged."""

    def chances(odds: Scalar, reward: Scalar) -> list[Scalar]:
        falls, rises = chance(odds), 1 / (1 + odds)
        first, second = (rises, falls) if exchanged else (falls, rises)
        return [falls / (first / (1 - reward) + second)]

    return chances


# What the returns do not tell is with which symbol a failure begins: the gap is that KL, times its chance.
FIRST_TOKEN = both_ways(
    "laws that differ in the first token alone, and a reward r for its first symbol alone",
    {"odds": ODDS, "drop": DROP},
    first_token_decides,
    gap=lambda odds, drop: [kl_to_second(odds, drop)] * 2,
    zero=("drop", 2),
    free={"reward": RATE},
)

FIRST_TOKEN_REWARDED = example(
    ref_first=".5 .5",
    ref_second=[".5 .5", ".5 .5"],
    pi_first=".7 .3",
    pi_second=[".5 .5", ".5 .5"],
    reward=".99 .99 .01 .01",
)
"""Returns that tell nearly all there is between the laws: the bound is within a tenth of them."""

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
    expected=Verdict.PROVED,
    given=("B1.processing", "B5.chain"),
    tight=True,
    examples=(REWARDED_PAIR, FIRST_TOKEN_REWARDED),
    symbolic=derivation,
    reductions=tuple(
        replace(reduction, factor=failing(exchanged))
        for reduction, exchanged in zip(FIRST_TOKEN, (False, True), strict=True)
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
