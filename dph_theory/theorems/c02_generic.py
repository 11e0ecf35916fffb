"""C2: why no constant repairs the stated bound: delta is first order in the step, D_f second order."""

import numpy as np

from ..divergences import each
from ..improvement import anchor_gain, surrogate, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, lowest, trailing
from ..references import Source
from ..statement.charts import chart, discounts, example, log_uniform, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import STATED


def one_state(r: Values, gamma: Values) -> TabularMDP:
    """The bandit with rewards (1, r, 0)."""
    one = 1 + 0 * r
    rewards = np.stack([one, r, 0 * r], axis=-1)[..., None, :]
    return TabularMDP(
        np.broadcast_to(trailing(one, 3), (*one.shape, 1, 3, 1)), rewards, gamma, one[..., None]
    )


def step_size(mdp: TabularMDP, pi: Values, constant: Values) -> Values:
    """t = min(1/2, (1-g) E_pi r/(4 C g eps)): small enough for the constant and the discount."""
    mean = (pi * mdp.r).sum(axis=-1)[..., 0]
    enough = (1 - mdp.gamma) * mean / (4 * constant * mdp.gamma * worst_advantage(mdp, pi))
    return lowest(np.stack([enough, 0 * enough + 0.5], axis=-1))


def anchor(mdp: TabularMDP, pi: Values, step: Values) -> Values:
    """(1-t) pi + t q, where q weighs every action of pi by its reward."""
    better = pi * mdp.r
    return (1 - trailing(step, 2)) * pi + trailing(step, 2) * better / better.sum(axis=-1, keepdims=True)


def half_first_order(r: Values, gamma: Values, pi: Values) -> Values:
    """Half of E_q A_old = Var_pi(r)/E_pi r: the first-order gain, of which the penalty takes at most 3/8."""
    rewards = one_state(r, gamma).r
    mean = (pi * rewards).sum(axis=-1)
    return trailing(((pi * np.square(rewards - mean[..., None])).sum(axis=-1) / mean)[..., 0] / 2, 1)


def excess_at(mdp: TabularMDP, pi: Values, constant: Values, step: Values) -> Values:
    """(right side - J)(1-g)/t at pi = pi_old, with the constant in place of C_f; three divergences."""
    pef = anchor(mdp, pi, step)
    # With pi = pi_old the first penalty is zero. The second: D_f <= t^2 chi^2(q || pi) for t <= 1/2, where
    # chi^2(q || pi) = Var_pi(r)/(E_pi r)^2, and eps_pef <= 3/2 eps.
    gamma = mdp.gamma
    penalty = constant * gamma * worst_advantage(mdp, pef) / (1 - gamma) / step
    penalties = each(lambda d: penalty * highest(d(pi, pef)), STATED)
    first_order = (1 - gamma) * (surrogate(mdp, pi, pi) - mdp.return_(pi)) + anchor_gain(mdp, pi, pef)
    return trailing(first_order / step, 1) - penalties


def excess_of_stated_bound(r: Values, gamma: Values, pi: Values, constant: Values) -> Values:
    mdp = one_state(r, gamma)
    return excess_at(mdp, pi, constant, step_size(mdp, pi, constant))


def excess_at_fixed_step(r: Values, gamma: Values, pi: Values, constant: Values) -> Values:
    return excess_at(one_state(r, gamma), pi, constant, 0 * r + 0.5)


THEOREM = Theorem(
    name="C2.generic",
    title="For every constant C and gamma < 1 there is a small step at which the stated bound exceeds J",
    source=Source("ours"),
    statement=r"\pi = \pi_{old},\; \pi_{pef} = (1-t)\pi + tq,\; t = t(C, \gamma):\quad"
    r" \frac{\delta}{1-\gamma} - \frac{C\gamma\epsilon_{pef}}{(1-\gamma)^2} D_f(\pi\|\pi_{pef})"
    r" \ge \frac{t}{2(1-\gamma)} E_q A_{old} > 0",
    relation=Relation.AT_MOST,
    lhs=half_first_order,
    rhs=excess_of_stated_bound,
    instances=chart(
        r=uniform(0, 1),
        gamma=discounts(nearest=1e-3),
        pi=simplex(3, 1, spread=4),
        constant=log_uniform(1e-3, 1e3),
    ),
    expected=Verdict.CERTIFIED,
    examples=(example(r="0", gamma=".9", pi=[".5 .25 .25"], constant="2"),),
    false_neighbours=(
        neighbour("at the step 1/2, whatever the constant", rhs=excess_at_fixed_step),
        neighbour("the whole first-order gain is left", lhs=scaled(half_first_order, 2)),
        masses_clamped("pi", 0.0006, "lhs"),
    ),
    note="A one-state MDP is enough: delta is first order in t and D_f second order, so no finite C_f helps.",
)
