"""C4: the rehearsal guarantee, the bound on kl(J_ref || J) solved for the return."""

from ..divergences import FORWARD_KL
from ..improvement import rehearsal_guarantee
from ..numeric.balls import Values
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ..tokens import success_and_failure, token_divergence
from ._tokens import REWARDED, REWARDED_PAIR


def reference_return(ref_tokens: list[Values], reward: Values) -> Values:
    both = success_and_failure(ref_tokens, reward)
    return both[..., 0] / both.sum(axis=-1)


def guarantee(ref_tokens: list[Values], pi_tokens: list[Values], reward: Values) -> Values:
    kl = token_divergence(FORWARD_KL, pi_tokens, ref_tokens)
    return rehearsal_guarantee(kl, reference_return(ref_tokens, reward))


def policy_return(pi_tokens: list[Values], reward: Values) -> Values:
    return success_and_failure(pi_tokens, reward)[..., 0]


def exponential_guarantee(ref_tokens: list[Values], pi_tokens: list[Values]) -> Values:
    return rehearsal_guarantee(token_divergence(FORWARD_KL, pi_tokens, ref_tokens))


def half_the_divergence(ref_tokens: list[Values], pi_tokens: list[Values], reward: Values) -> Values:
    kl = token_divergence(FORWARD_KL, pi_tokens, ref_tokens)
    return rehearsal_guarantee(kl / 2, reference_return(ref_tokens, reward))


THEOREM = Theorem(
    name="C4.inverted",
    title="Rehearsal guarantee: J(pi) >= the least J with kl(J_ref || J) <= sum of token forward KLs",
    source=Source("ours"),
    statement=r"J(\pi) \ge \min\{J : \mathrm{kl}(J(\pi_{pef})\|J) \le \mathrm{KL}_{seq}(\pi_{pef}\|\pi)\}",
    relation=Relation.AT_MOST,
    lhs=guarantee,
    rhs=policy_return,
    instances=REWARDED,
    expected=Verdict.HOLDS,
    certified=False,  # The inversion is a bisection in floats; C4.reference certifies what it inverts.
    tight=True,
    examples=(REWARDED_PAIR,),
    false_neighbours=(
        neighbour("exp(-KL) for any reference, however often it fails", lhs=exponential_guarantee),
        neighbour("half the divergence", lhs=half_the_divergence),
        neighbour("a right side 2% smaller", rhs=scaled(policy_return, 0.98)),
    ),
)
