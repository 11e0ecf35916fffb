"""The rehearsal guarantee.

Closeness to a reference behaviour bounds the return from below: the KL of the returns is at most the sum of
the token forward KLs that a rehearsal loss adds up. With the filtered model as the reference the pass rate
is at least exp(-KL(p_*||pi)).
"""

from functools import partial

import numpy as np

from ...binary_reward import filtered, pass_rate
from ...divergences import FORWARD_KL, REVERSE_KL
from ...fdivergence import FDivergence
from ...improvement import rehearsal_guarantee
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...tokens import on_policy_token_divergence, sequence_divergence, token_divergence
from ...verification.charts import chart, example, integers, masks, rates, simplex, uniform
from ...verification.statement import Relation, neighbour, theorem
from .._policies import FOUR_ANSWERS
from .._token_pairs import REWARDED, success_and_failure


def kl_of_returns(ref_tokens: list[Values], pi_tokens: list[Values], reward: Values) -> Values:
    reference = success_and_failure(ref_tokens, reward)
    return REVERSE_KL(reference, success_and_failure(pi_tokens, reward))[..., None]


def both_kls(pi_tokens: list[Values], ref_tokens: list[Values]) -> Values:
    """Forward KL of whole sequences, and its sum over tokens that a rehearsal loss adds up; (batch, 2)."""
    parts = pi_tokens, ref_tokens
    return np.stack([kl(FORWARD_KL, *parts) for kl in (sequence_divergence, token_divergence)], axis=-1)


def reverse_kl(pi_tokens: list[Values], ref_tokens: list[Values]) -> Values:
    return token_divergence(FORWARD_KL, ref_tokens, pi_tokens)[..., None]


FIRST_TOKEN_REWARDED = example(
    ref_first=".5 .5",
    ref_second=[".5 .5", ".5 .5"],
    pi_first=".7 .3",
    pi_second=[".5 .5", ".5 .5"],
    reward=".99 .99 .01 .01",
)
"""Returns that show nearly all there is between the policies: the bound is within a tenth of them."""

DECISIVE = example(
    ref_first="0 1", ref_second=["1 0", "0 1"], pi_first=".5 .5", pi_second=["1 0", "0 1"], reward="0 0 0 1"
)
"""The first token decides the reward: the returns show all that differs."""

REWARDED_PAIR = example(
    ref_first=".8 .2",
    ref_second=[".9 .1", ".5 .5"],
    pi_first=".6 .4",
    pi_second=[".7 .3", ".2 .8"],
    reward="1 .25 0 .75",
)

REFERENCE = theorem(
    "kl(J(pi_pef) || J(pi)) <= KL_seq(pi_pef || pi), for rewards in [0, 1]",
    statement=r"\mathrm{kl}(J(\pi_{pef})\|J(\pi)) \le \mathrm{KL}_{seq}(\pi_{pef}\|\pi) ="
    r" \sum_t E_{\pi_{pef}}\,\mathrm{KL}(\pi_{pef}(\cdot|y_{<t})\|\pi(\cdot|y_{<t})),\quad v \in [0,1]",
    source=Source("ours"),
    on=REWARDED,
    at_most=(kl_of_returns, both_kls),
    examples=(
        REWARDED_PAIR.giving(lhs=".0318424897159", rhs=".2292023373811"),
        FIRST_TOKEN_REWARDED.giving(lhs=".0834194175519", rhs=".0871766935724"),
        DECISIVE,
    ),
    coq="reference_return",
    false=(
        neighbour(
            "tokens on the policy's own prefixes add up to the sequence KL",
            relation=Relation.EQUAL,
            lhs=partial(sequence_divergence, FORWARD_KL),
            rhs=partial(on_policy_token_divergence, FORWARD_KL),
        ),
        neighbour("the reverse KL", rhs=reverse_kl),
    ),
)


def reference_return(ref_tokens: list[Values], reward: Values) -> Values:
    rates = success_and_failure(ref_tokens, reward)
    return rates[..., 0] / rates.sum(axis=-1)


def guarantee(ref_tokens: list[Values], pi_tokens: list[Values], reward: Values) -> Values:
    kl = token_divergence(FORWARD_KL, pi_tokens, ref_tokens)
    return rehearsal_guarantee(kl, reference_return(ref_tokens, reward))


def policy_return(pi_tokens: list[Values], reward: Values) -> Values:
    return success_and_failure(pi_tokens, reward)[..., 0]


def exponential_guarantee(ref_tokens: list[Values], pi_tokens: list[Values]) -> Values:
    return rehearsal_guarantee(token_divergence(FORWARD_KL, pi_tokens, ref_tokens))


INVERTED = theorem(
    "Rehearsal guarantee: J(pi) >= the least J with kl(J_ref || J) <= sum of token forward KLs",
    statement=r"J(\pi) \ge \min\{J : \mathrm{kl}(J(\pi_{pef})\|J) \le \mathrm{KL}_{seq}(\pi_{pef}\|\pi)\}",
    source=Source("ours"),
    on=REWARDED,
    at_most=(guarantee, policy_return),
    examples=(REWARDED_PAIR.giving(lhs=".488355262808", rhs=".705"),),
    coq="least_return",
    false=(neighbour("exp(-KL) for any reference, however often it fails", lhs=exponential_guarantee),),
)


def guaranteed_rate(pi: Values, base: Values, valid: Values) -> Values:
    return rehearsal_guarantee(FORWARD_KL(pi, filtered(base, valid)))


def guaranteed_from_base(pi: Values, base: Values) -> Values:
    """Guarantee e^{-KL(base || pi)}, (batch,), on the pass rate if all samples of the base were correct."""
    return np.exp(-FORWARD_KL(pi, base))


FOUR_OUTCOMES = FOUR_ANSWERS.but(m=".55", rest="0 0 .4 .6", pi=".3 .25 .25 .2")

FILTERED = theorem(
    "J(pi) >= exp(-KL(p_* || pi)): rehearsing correct samples bounds the pass rate",
    statement=r"J(\pi) = \pi(Y_1) \ge e^{-\mathrm{KL}(p_*\|\pi)}",
    source=Source("ours"),
    on=chart(pi=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    at_most=(guaranteed_rate, lambda pi, valid: pass_rate(pi, valid)),
    examples=(FOUR_OUTCOMES.giving(lhs=".5466810369716", rhs=".55"),),
    coq="rehearsal",
    note="So the DPH-F loss on correct samples, E_{p_*}[-log pi] = KL(p_*||pi) + H(p_*), bounds the pass rate"
    " on the rehearsed prompts from below.",
    false=(
        neighbour("the reverse KL to the base", lhs=lambda pi, base: np.exp(-REVERSE_KL(pi, base))),
        neighbour("rehearsing all samples of the base", lhs=guaranteed_from_base),
    ),
)


def guarantees(m: Values, base: Values, rest: Values, valid: Values, pi: Values) -> Values:
    """Bound e^{-KL(p_* || pi)} on the pass rate, (batch, 2): of m p_* + (1-m) rest, and of `pi`."""
    target = filtered(base, valid)
    shaped = add_axes(m, 1) * target + add_axes(1 - m, 1) * filtered(rest, ~valid)
    return np.stack([np.exp(-FORWARD_KL(q, target)) for q in (shaped, pi)], axis=-1)


def rate_times_shape(m: Values, base: Values, valid: Values, pi: Values) -> Values:
    shape = np.exp(-FORWARD_KL(filtered(pi, valid), filtered(base, valid)))
    return np.stack([m, pass_rate(pi, valid) * shape], axis=-1)


EQUALITY = theorem(
    "exp(-KL(p_* || pi)) is pi(Y1) iff pi = m p_* on Y1, and else smaller by exp(-KL(p_* || pi(.|Y1)))",
    statement=r"e^{-\mathrm{KL}(p_*\|\pi)} = \pi(Y_1)\,e^{-\mathrm{KL}(p_*\|\pi(\cdot|Y_1))},"
    r"\quad = \pi(Y_1) \iff \pi = m\,p_* \text{ on } Y_1,\quad \pi > 0",
    source=Source("ours"),
    on=chart(m=rates(), base=simplex(4), rest=simplex(4), valid=masks(4), pi=simplex(4)),
    equal=(guarantees, rate_times_shape),
    examples=(FOUR_OUTCOMES.giving(value=".55 .5466810369716"),),
    coq="rehearsal_exact",
    false=(
        neighbour(
            "equality whatever the shape on Y1",
            rhs=lambda m, pi, valid: np.stack([m, pass_rate(pi, valid)], axis=-1),
        ),
    ),
)


LONGEST = 6
STATES = ACTIONS = 3
TWO_STEPS = np.array([[[1, 0, 0], [0, 1, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0], [1, 0, 0]], [[0, 0, 1]] * 3])
"""From the start the second and third action lead on, from there the first to success, others back."""
STARTS, SUCCESS = np.array([1, 0, 0]), np.array([0, 0, 1])


def mixed(chance: Values, start: Values, worth: Values, random: Values) -> dict[str, Values]:
    """Parts P, rho0, reward: a process that succeeds in two steps, with a free one in the share `random`.

    The free process has transitions `chance`, start `start` and rewards `worth`.
    """
    share = add_axes(random, 1)
    return {
        "P": (1 - share[..., None, None]) * TWO_STEPS + share[..., None, None] * chance,
        "rho0": (1 - share) * STARTS + share * start,
        "reward": (1 - share) * SUCCESS + share * worth,
    }


def visits(P: Values, rho0: Values, pi: Values) -> Values:
    """Distributions of the states before each step and after the last, (batch, LONGEST + 1, states)."""
    moves = (pi[..., None] * P).sum(axis=-2)
    states = [rho0]
    for _ in range(LONGEST):
        states.append((states[-1][..., None] * moves).sum(axis=-2))
    return np.stack(states, axis=-2)


def final_success_and_failure(P: Values, rho0: Values, pi: Values, reward: Values, horizon: Values) -> Values:
    """(J, 1-J), (batch, 2), with J the mean of a reward in [0, 1] for the state after `horizon` steps."""
    last = visits(P, rho0, pi)[np.arange(len(P)), horizon.astype(int)]
    return np.stack([(last * reward).sum(axis=-1), (last * (1 - reward)).sum(axis=-1)], axis=-1)


def kl_of_final_returns(
    P: Values, rho0: Values, pi: Values, pi_pef: Values, reward: Values, horizon: Values
) -> Values:
    rates = (final_success_and_failure(P, rho0, policy, reward, horizon) for policy in (pi_pef, pi))
    return REVERSE_KL(*rates)


def summed_over_steps(
    divergence: FDivergence,
    P: Values,
    rho0: Values,
    pi: Values,
    pi_pef: Values,
    visitor: Values,
    horizon: Values,
) -> Values:
    """Sum over t < horizon of the mean D(pi || pi_pef) at states visited by policy `visitor`; (batch,)."""
    before = np.asarray(np.arange(LONGEST) < add_axes(horizon, 1), dtype=bool)
    weights = masked(visits(P, rho0, visitor)[..., :LONGEST, :], before[..., None]).sum(axis=-2)
    with np.errstate(invalid="ignore"):
        return masked(weights * divergence(pi, pi_pef), weights != 0).sum(axis=-1)


def token_kls(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return summed_over_steps(FORWARD_KL, P, rho0, pi, pi_pef, pi_pef, horizon)


def on_own_states(
    divergence: FDivergence, P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values
) -> Values:
    return summed_over_steps(divergence, P, rho0, pi, pi_pef, pi, horizon)


TWO_STEP_TASK = example(
    chance=[["1 0 0", "0 1 0", "0 0 1"]] * STATES,
    start="1 0 0",
    worth="0 0 1",
    random="0",
    pi=[".9 .1 0", ".2 .6 .2", "1 0 0"],
    pi_pef=[".6 .4 0", ".7 .2 .1", "1 0 0"],
    horizon=4,
)
SELDOM_VISITED = TWO_STEP_TASK.but(
    pi=[".9 .1 0", ".001 .999 0", "1 0 0"], pi_pef=[".6 .4 0", "1 0 0", "1 0 0"], horizon=2
)
"""The policy seldom visits the state in which it never succeeds."""

HORIZON = theorem(
    "kl(J_ref||J) <= the sum over any number of steps of E_ref KL(pi_pef(.|s_t) || pi(.|s_t))",
    statement=r"\mathrm{kl}(J(\pi_{pef})\|J(\pi)) \le \sum_{t<H} E_{s_t\sim\pi_{pef}}"
    r"\,\mathrm{KL}(\pi_{pef}(\cdot|s_t)\|\pi(\cdot|s_t)),\quad J = E\,v(s_H),\; v \in [0,1]",
    source=Source("ours"),
    on=chart(
        chance=simplex(STATES, STATES, ACTIONS, zeros=True),
        start=simplex(STATES),
        worth=uniform(0, 1, STATES),
        random=uniform(0, 1),
        pi=simplex(ACTIONS, STATES, zeros=True),
        pi_pef=simplex(ACTIONS, STATES, zeros=True),
        horizon=integers(1, LONGEST),
    ).deriving(mixed),
    at_most=(kl_of_final_returns, token_kls),
    examples=(
        example(
            chance=[
                [".5 .3 .2", ".1 .6 .3", ".1 .6 .3"],
                [".3 .3 .4", ".2 .7 .1", ".2 .7 .1"],
                [".6 .2 .2", ".1 .2 .7", ".1 .2 .7"],
            ],
            start=".5 .3 .2",
            worth=".1 .4 .9",
            random="1",
            pi=[".6 .4 0", ".35 .65 0", ".5 .5 0"],
            pi_pef=[".8 .2 0", ".6 .4 0", ".2 .8 0"],
            horizon=2,
        ).giving(lhs=".0033407446886", rhs=".259856398176"),
    ),
    note="In a language model the state is the prefix, and a string that has ended stays where it is.",
    coq="horizon_return",
    false=(
        neighbour(
            "without the last step",
            at=TWO_STEP_TASK,
            rhs=lambda P, rho0, pi, pi_pef, horizon: token_kls(P, rho0, pi, pi_pef, horizon - 1),
        ),
        neighbour("on the policy's own states", at=SELDOM_VISITED, rhs=partial(on_own_states, FORWARD_KL)),
        neighbour(
            "the policy's reverse KL on its own states",
            at=TWO_STEP_TASK,
            rhs=partial(on_own_states, REVERSE_KL),
        ),
        neighbour(
            "the mean over the steps instead of the sum",
            at=TWO_STEP_TASK,
            rhs=lambda P, rho0, pi, pi_pef, horizon: token_kls(P, rho0, pi, pi_pef, horizon) / horizon,
        ),
    ),
)
