"""Charts of MDPs, the policies on them, and the scaled gains and losses that several statements compare."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence, stacked
from ..improvement import (
    anchor_gain,
    pinsker_constant,
    stated_bound,
    surrogate,
    trpo_penalty,
    weighted,
    worst_advantage,
)
from ..mdp import TabularMDP
from ..numeric.elementary import Values, add_axes
from ..verification.charts import Chart, chart, discounts, example, log_uniform, simplex, uniform


def worst_chain(gamma: Values, tv: Values, eps: Values) -> dict[str, Any]:
    """Parts mdp, pi, pi_old that attain TRPO's sharp bound; gamma, tv and eps have shape (batch,).

    In state 0 the new policy gains 2 TV eps over the old one, but its third action, which the old policy
    never takes, leads to state 1, from which there is no return and in which it loses 2 TV eps. The rewards
    are the advantages of the old policy, whose value is zero.
    """
    zero, one = 0 * tv, 1 + 0 * tv
    # The second action balances the first: no larger an advantage than eps while TV <= 1/2.
    gains = np.stack([-one, tv / (1 - tv), one], axis=-1)
    r = add_axes(eps, 2) * np.stack([gains, -gains], axis=-2)
    stay, leave = np.stack([one, zero], axis=-1), np.stack([zero, one], axis=-1)
    P = np.stack([np.stack([stay, stay, leave], axis=-2), np.stack([leave] * 3, axis=-2)], axis=-3)
    old, new = np.stack([tv, 1 - tv, zero], axis=-1), np.stack([zero, 1 - tv, tv], axis=-1)
    return {
        "mdp": TabularMDP(P, r, gamma, stay),
        "pi": np.stack([new, new], axis=-2),
        "pi_old": np.stack([old, old], axis=-2),
    }


WORST_CHAINS = chart(
    gamma=discounts(nearest=1e-3), tv=uniform(0.001, 0.5), eps=log_uniform(0.01, 1)
).deriving(worst_chain)
"""Discount, total variation and largest advantage of a `worst_chain`."""


def scaled_loss(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    """(1-gamma)^2 (L_old(pi) - J(pi)), (batch,): scaled so that discounts near 1 do not amplify rounding."""
    return (1 - mdp.gamma) ** 2 * (surrogate(mdp, pi, pi_old) - mdp.return_(pi))


def with_mdp(P: Values, r: Values, gamma: Values, rho0: Values) -> dict[str, Any]:
    """Part `mdp` of a test case, from transitions P, rewards r, discount gamma and start rho0."""
    return {"mdp": TabularMDP(P, r, gamma, rho0)}


STATES = ACTIONS = 3


def free_steps(states: int, actions: int) -> Chart:
    """Chart of random MDPs with that many states and actions, and two policies, pi and pi_old."""
    return chart(
        P=simplex(states, states, actions),
        r=uniform(-1, 1, states, actions),
        gamma=discounts(nearest=1e-3),
        rho0=simplex(states),
        pi=simplex(actions, states, zeros=True),
        pi_old=simplex(actions, states, zeros=True),
    )


def _like_the_last(values: Values, *axes: int) -> Values:
    """`values` with the last entry of each given axis repeated until the axis has three."""
    for axis in axes:
        last = np.take(values, [-1], axis=axis)
        values = np.concatenate([values] + [last] * (STATES - values.shape[axis]), axis=axis)
    return values


def _unused(values: Values) -> Values:
    """`values` with zeros appended to the last axis until it has three entries."""
    zero = 0 * values[..., :1]
    return np.concatenate([values] + [zero] * (STATES - values.shape[-1]), axis=-1)


def around(extreme: Callable[..., dict[str, Any]]) -> Chart:
    """Chart of steps between an extreme one, `extreme(gamma, tv, eps)`, and free ones, on three states.

    The part `away` is 0 at the extreme step itself, 1 and -1 at a free one: the extreme is inside the chart,
    where few random draws come near it.
    """

    def derive(
        away: Values,
        tv: Values,
        P: Values,
        r: Values,
        gamma: Values,
        rho0: Values,
        pi: Values,
        pi_old: Values,
    ) -> dict[str, Any]:
        step = extreme(gamma, tv, 1 + 0 * tv)

        def mixed(centre: Values, free: Values) -> Values:
            share = add_axes(abs(away), free.ndim - 1)
            return (1 - share) * centre + share * free

        mdp = TabularMDP(
            mixed(_like_the_last(_unused(step["mdp"].P), -2, -3), P),
            mixed(_like_the_last(step["mdp"].r, -1, -2), r),
            gamma,
            mixed(_unused(step["mdp"].rho0), rho0),
        )
        policies = {"pi": pi, "pi_old": pi_old}
        return {
            "mdp": mdp,
            **{name: mixed(_like_the_last(_unused(step[name]), -2), free) for name, free in policies.items()},
        }

    free = free_steps(STATES, ACTIONS)
    return chart(**free.parts, tv=uniform(0.001, 0.5), away=uniform(-1, 1)).deriving(derive)


STEPS = around(worst_chain)
"""Steps between policies, from the worst chain (at which the sharp bound is attained) to free ones."""

STEP = example(
    P=[["1 0 0", "0 1 0", "0 1 0"]] * STATES,
    r=["-1 1 1", "1 -1 -1", "1 -1 -1"],
    gamma=".5",
    rho0=".5 .5 0",
    pi=[".4 .6 0"] * STATES,
    pi_old=[".5 .5 0"] * STATES,
    tv=".5",
    away="1",
)
"""The action chooses the next state; the new policy moves towards the one that pays in state 0."""


def scaled_trpo_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    """TRPO's penalty times (1-gamma)^2, that is 4 eps gamma max_s TV_s^2, shape (batch,)."""
    return (1 - mdp.gamma) ** 2 * trpo_penalty(mdp, pi, pi_old)


STATED = (FORWARD_KL, alpha_divergence(0.5), JENSEN_SHANNON)
"""The divergences that the source of the stated bound names."""


def triples(states: int, actions: int) -> Chart:
    """Chart of random MDPs of that size with a new, an old and a reference policy (pi, pi_old, pi_pef)."""
    reference = simplex(actions, states, zeros=True)
    return chart(**free_steps(states, actions).parts, pi_pef=reference).deriving(with_mdp)


TRIPLES = triples(STATES, ACTIONS)
SMALL_TRIPLES = triples(2, 2)

COUNTEREXAMPLE = example(
    P=[["1 ", "1 "]], r=["1 0"], gamma=".9", rho0="1 ", pi=[".5 .5"], pi_old=[".5 .5"], pi_pef=[".54 .46"]
).giving(lhs=".5088", rhs=".5")
"""One state, two actions, nothing learnt yet, and a reference policy that is 0.04 better."""


def stated_bounds(
    mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values, reading: str, constant: float = 1
) -> Values:
    """Theorem 1's three right sides (one per D_f) times 1-gamma, (batch, 3), C_f times `constant`.

    `reading` says whose advantage delta bounds, that of pi_old ("old") or of pi ("new"); see `stated_bound`.
    """
    bounds = stacked(lambda d: (1 - mdp.gamma) * stated_bound(mdp, pi, pi_old, pi_pef, d, reading), STATED)
    if constant == 1:
        return bounds
    weight = (constant - 1) * worst_advantage(mdp, pi_pef) * mdp.gamma / (1 - mdp.gamma)
    return bounds - stacked(
        lambda d: weighted(weight * pinsker_constant(d), np.max(d(pi, pi_pef), axis=-1)), STATED
    )


def least_stated_bound(
    mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values, reading: str, constant: float = 1
) -> Values:
    """Smallest of `stated_bounds` (same arguments), (batch,): if it exceeds the return, all three do."""
    return np.min(stated_bounds(mdp, pi, pi_old, pi_pef, reading, constant), axis=-1)


def normalised_return(mdp: TabularMDP, pi: Values) -> Values:
    """Normalised return (1-gamma) J(pi), shape (batch,)."""
    return (1 - mdp.gamma) * mdp.return_(pi)


TRIPLE = example(
    P=[["1 0", "0 1"], ["1 0", "0 1"]],
    r=["0 1", "0 1"],
    gamma=".9",
    rho0=".5 .5",
    pi=[".2 .8", ".15 .85"],
    pi_old=[".5 .5", ".5 .5"],
    pi_pef=[".1 .9", ".1 .9"],
)
"""The second action is the better one; the new policy is close to a reference that mostly takes it."""

EVEN = example(
    P=[["1 ", "1 "]], r=["2 1"], gamma=".5", rho0="1 ", pi=[".49 .51"], pi_old=[".5 .5"], pi_pef=[".5 .5"]
)
"""One state, and a small step away from an even reference policy: the anchor bound is nearly attained."""


def shortfall(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    """delta - (1-gamma)(J(pi) - J(pi_old)), (batch,); delta is the least advantage of pi_pef over pi_old."""
    return anchor_gain(mdp, pi_old, pi_pef) - (1 - mdp.gamma) * (mdp.return_(pi) - mdp.return_(pi_old))
