"""C4: the returns' bound at a general horizon, for steps of a Markov decision process."""

import numpy as np
import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.balls import Values, only, trailing
from ..references import Source
from ..statement.charts import chart, example, integers, simplex, uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import toss_for_success

LONGEST = 6
STATES = ACTIONS = 3
TWO_STEPS = np.array([[[1, 0, 0], [0, 1, 0], [0, 1, 0]], [[0, 0, 1], [1, 0, 0], [1, 0, 0]], [[0, 0, 1]] * 3])
"""From the start the second and third action lead on, from there the first to success, others back."""
STARTS, SUCCESS = np.array([1, 0, 0]), np.array([0, 0, 1])


def mixed(chance: Values, start: Values, worth: Values, random: Values) -> dict[str, Values]:
    """The process that takes two steps to succeed, mixed with a free one."""
    share = trailing(random, 1)
    return {
        "P": (1 - share[..., None, None]) * TWO_STEPS + share[..., None, None] * chance,
        "rho0": (1 - share) * STARTS + share * start,
        "reward": (1 - share) * SUCCESS + share * worth,
    }


def visits(P: Values, rho0: Values, pi: Values) -> Values:
    """The laws of the states before each step and after the last, (batch, LONGEST + 1, states)."""
    moves = (pi[..., None] * P).sum(axis=-2)
    laws = [rho0]
    for _ in range(LONGEST):
        laws.append((laws[-1][..., None] * moves).sum(axis=-2))
    return np.stack(laws, axis=-2)


def success_and_failure(P: Values, rho0: Values, pi: Values, reward: Values, horizon: Values) -> Values:
    """(J, 1-J) of a reward in [0, 1] for the state after the last step."""
    last = only(visits(P, rho0, pi), _is(np.arange(LONGEST + 1), horizon)[..., None]).sum(axis=-2)
    return np.stack([(last * reward).sum(axis=-1), (last * (1 - reward)).sum(axis=-1)], axis=-1)


def _is(steps: Values, horizon: Values) -> Values:
    return np.asarray(trailing(horizon, 1) == steps, dtype=bool)


def kl_of_returns(
    P: Values, rho0: Values, pi: Values, pi_pef: Values, reward: Values, horizon: Values
) -> Values:
    both = (success_and_failure(P, rho0, policy, reward, horizon) for policy in (pi_pef, pi))
    return REVERSE_KL(*both)


def summed(
    divergence: FDivergence,
    P: Values,
    rho0: Values,
    pi: Values,
    pi_pef: Values,
    visitor: Values,
    horizon: Values,
) -> Values:
    """sum_{t < H} E_{s_t of the visitor} D(pi(.|s_t) || pi_pef(.|s_t))."""
    before = np.asarray(np.arange(LONGEST) < trailing(horizon, 1), dtype=bool)
    weights = only(visits(P, rho0, visitor)[..., :LONGEST, :], before[..., None]).sum(axis=-2)
    here = divergence(pi, pi_pef)
    with np.errstate(invalid="ignore"):
        return np.where(weights == 0, 0 * weights, weights * here).sum(axis=-1)


def token_kls(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return summed(FORWARD_KL, P, rho0, pi, pi_pef, pi_pef, horizon)


def on_own_states(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return summed(FORWARD_KL, P, rho0, pi, pi_pef, pi, horizon)


def reverse_kls(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return summed(REVERSE_KL, P, rho0, pi, pi_pef, pi, horizon)


def without_the_last(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return summed(FORWARD_KL, P, rho0, pi, pi_pef, pi_pef, horizon - 1)


def mean_over_steps(P: Values, rho0: Values, pi: Values, pi_pef: Values, horizon: Values) -> Values:
    return token_kls(P, rho0, pi, pi_pef, horizon) / horizon


def derivation() -> Claims:
    # The KL of runs of any length grows by each step's own: a run so far, of masses q (reference) and p,
    # takes an action of masses q_a and p_a and then the next state, of one mass x under both (B5.chain, with
    # a step of the process after each action). The return is what is left of runs merged by the toss for
    # success: the KL of returns is no larger (B1.processing).
    p, q, p_a, q_a, x = sympy.symbols("p q p_a q_a x", positive=True)
    longer = q * q_a * x * sympy.log((q * q_a * x) / (p * p_a * x))
    so_far = q_a * x * q * sympy.log(q / p)
    step = q * x * (q_a * sympy.log(q_a / p_a))
    yield Claim("a run of any length and its next step", longer, equals=so_far + step)
    yield from toss_for_success()


THEOREM = Theorem(
    name="C4.horizon",
    title="kl(J_ref||J) <= the sum over any number of steps of E_ref KL(pi_pef(.|s_t) || pi(.|s_t))",
    source=Source("ours"),
    statement=r"\mathrm{kl}(J(\pi_{pef})\|J(\pi)) \le \sum_{t<H} E_{s_t\sim\pi_{pef}}"
    r"\,\mathrm{KL}(\pi_{pef}(\cdot|s_t)\|\pi(\cdot|s_t)),\quad J = E\,v(s_H),\; v \in [0,1]",
    relation=Relation.AT_MOST,
    lhs=kl_of_returns,
    rhs=token_kls,
    instances=chart(
        chance=simplex(STATES, STATES, ACTIONS, zeros=True),
        start=simplex(STATES),
        worth=uniform(0, 1, STATES),
        random=uniform(0, 1),
        pi=simplex(ACTIONS, STATES, zeros=True),
        pi_pef=simplex(ACTIONS, STATES, zeros=True),
        horizon=integers(1, LONGEST),
    ).deriving(mixed),
    expected=Verdict.PROVED,
    given=("B5.chain", "B1.processing"),
    examples=(
        example(
            chance=[["1 0 0", "0 1 0", "0 0 1"]] * STATES,
            start="1 0 0",
            worth="0 0 1",
            random="0",
            pi=[".9 .1 0", ".2 .6 .2", "1 0 0"],
            pi_pef=[".6 .4 0", ".7 .2 .1", "1 0 0"],
            horizon=4,
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("without the last step", rhs=without_the_last),
        neighbour("on the policy's own states", rhs=on_own_states),
        neighbour("the policy's reverse KL on its own states", rhs=reverse_kls),
        neighbour("the mean over the steps instead of the sum", rhs=mean_over_steps),
    ),
    note="In a language model the state is the prefix, and a string that has ended stays where it is.",
)
