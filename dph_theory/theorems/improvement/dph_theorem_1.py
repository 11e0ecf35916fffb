"""The stated improvement bound.

The "enhanced monotonic improvement" of the paper's Theorem 1. Without a discount it is refuted as it stands,
and no reading is needed: every penalty has a factor gamma, and J = L_old. With one it is refuted in our
reconstruction, in both readings of its assumption on delta, and no constant mends it, since delta is of
first order in the step, the divergence of second.
"""

from functools import partial

import numpy as np

from ...divergences import stacked
from ...improvement import anchor_gain, surrogate, worst_advantage
from ...mdp import TabularMDP
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...verification.charts import chart, discounts, example, log_uniform, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._mdps import COUNTEREXAMPLE, STATED, TRIPLES, least_stated_bound, normalised_return

STATED_SOURCE = Source("li2025choice", "Theorem 1; cf. kang2018pofd", figure="bounds")


def one_state(r: Values, gamma: Values) -> TabularMDP:
    """The bandit with rewards (1, r, 0)."""
    one = 1 + 0 * r
    rewards = np.stack([one, r, 0 * r], axis=-1)[..., None, :]
    return TabularMDP(
        np.broadcast_to(add_axes(one, 3), (*one.shape, 1, 3, 1)), rewards, gamma, one[..., None]
    )


def one_step_bonus(r: Values, pi: Values, pi_old: Values, pi_pef: Values, share: float = 1) -> Values:
    """L_old(pi) + delta at gamma = 0, where no penalty is left."""
    mdp = one_state(r, 0 * r)
    return surrogate(mdp, pi, pi_old) + share * anchor_gain(mdp, pi_old, pi_pef)


UNDISCOUNTED = refuted(
    "Theorem 1 without a discount says that no reference is ever better than the old policy: refuted",
    statement=r"\gamma = 0:\quad J(\pi) \ge L_{old}(\pi) + \delta,\quad"
    r" \delta \le E_{\pi_{pef}} A_{old}(s,\cdot)",
    source=STATED_SOURCE,
    on=chart(r=uniform(0, 1), pi=simplex(3, 1), pi_old=simplex(3, 1), pi_pef=simplex(3, 1)),
    at_most=(one_step_bonus, lambda r, pi: one_state(r, 0 * r).return_(pi)),
    examples=(example(r="0", pi=[".6 .3 .1"], pi_old=[".5 .3 .2"], pi_pef=[".7 .2 .1"], lhs=".8", rhs=".6"),),
    note="At gamma = 0 J = L_old, and every penalty has a factor gamma and is 0, whatever the divergence,"
    " eps_pef, eps_pi and C_f are: the claim is then delta <= 0, and delta is .2 in the example. This needs"
    " no reading of the paper; dph_theorem_1.old, .new and .generic are of our reconstruction.",
    coq="stated_without_future",
    false=(neighbour("with half of the bonus", lhs=partial(one_step_bonus, share=0.5)),),
)


NOTES = {
    "old": "The text of the assumption, eps_pef, eps_pi, C_f and the alpha_1 term are not available to us:"
    " all are readings here. The bound fails under both readings of delta, this one and dph_theorem_1.new,"
    " whatever C_f (dph_theorem_1.generic), and at gamma = 0 whatever all of them are"
    " (dph_theorem_1.undiscounted). What holds instead: anchor_bound and rehearsal_guarantee.",
    "new": "At pi = pi_old the two readings coincide, so one counterexample serves both; see"
    " dph_theorem_1.old for what holds instead.",
}

STATED_BOUND = {
    reading: refuted(
        f"Theorem 1 in our reconstruction, delta below E_pef A_{reading}: refuted for three divergences",
        statement=r"J(\pi) \ge L_{old}(\pi) - \tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
        r" + \tfrac{\delta}{1-\gamma} - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2},"
        rf"\quad \delta \le E_{{\pi_{{pef}}}} A_{{{policy}}}(s,\cdot)",
        source=STATED_SOURCE,
        on=TRIPLES,
        at_most=(partial(least_stated_bound, reading=reading), normalised_return),
        examples=(COUNTEREXAMPLE,),
        # The scale of a normalised return, (1-gamma) J.
        floor=1.0,
        note=NOTES[reading],
        coq="stated_bound_fails",
        false=(
            neighbour(
                "a constant C_f ten times larger",
                at=COUNTEREXAMPLE.but(pi_pef=[".504 .496"]),
                lhs=partial(least_stated_bound, reading=reading, constant=10),
            ),
        ),
    )
    for reading, policy in (("old", "old"), ("new", r"\pi"))
}


def step_size(mdp: TabularMDP, pi: Values, constant: Values, fraction: Values) -> Values:
    """A fraction of the largest step that is surely small enough, for rewards that span 1.

    No more than 1/2 or any pi(a), so that u stays in [1/2, 2], where f'' <= 4; and no more than
    (1-g) E_q A_old/(16 C g chi^2(q || pi)), which is (1-g) E_pi r/(16 C g).
    """
    mean = (pi * mdp.r).sum(axis=-1)[..., 0]
    enough = (1 - mdp.gamma) * mean / (16 * constant * mdp.gamma)
    return fraction * np.minimum(np.minimum(enough, np.min(pi, axis=-1)[..., 0]), 0.5)


def anchor(mdp: TabularMDP, pi: Values, step: Values) -> Values:
    """(1-t) pi + t q, where q weighs every action of pi by its reward."""
    better = pi * mdp.r
    return (1 - add_axes(step, 2)) * pi + add_axes(step, 2) * better / better.sum(axis=-1, keepdims=True)


def half_first_order(r: Values, gamma: Values, pi: Values) -> Values:
    """Half of E_q A_old = Var_pi(r)/E_pi r; the penalty takes at most the other half."""
    rewards = one_state(r, gamma).r
    mean = (pi * rewards).sum(axis=-1)
    return add_axes(((pi * np.square(rewards - mean[..., None])).sum(axis=-1) / mean)[..., 0] / 2, 1)


def excess_at(mdp: TabularMDP, pi: Values, constant: Values, step: Values) -> Values:
    """(right side - J)(1-g)/t at pi = pi_old, with the constant in place of C_f; three divergences."""
    pef = anchor(mdp, pi, step)
    # With pi = pi_old the first penalty is zero. The second: D_f <= 8 t^2 chi^2(q || pi) where f'' <= 4, with
    # chi^2(q || pi) = Var_pi(r)/(E_pi r)^2, and eps_pef is at most the span of the rewards.
    gamma = mdp.gamma
    penalty = constant * gamma * worst_advantage(mdp, pef) / (1 - gamma) / step
    penalties = stacked(lambda d: penalty * np.max(d(pi, pef), axis=-1), STATED)
    first_order = (1 - gamma) * (surrogate(mdp, pi, pi) - mdp.return_(pi)) + anchor_gain(mdp, pi, pef)
    return add_axes(first_order / step, 1) - penalties


def excess_of_stated_bound(
    r: Values, gamma: Values, pi: Values, constant: Values, fraction: Values
) -> Values:
    mdp = one_state(r, gamma)
    return excess_at(mdp, pi, constant, step_size(mdp, pi, constant, fraction))


GENERIC = theorem(
    "For every constant C and gamma < 1 there is a small step at which the stated bound exceeds J",
    statement=r"\pi = \pi_{old},\; \pi > 0,\; \pi_{pef} = (1-t)\pi + tq,\; t = t(C, \gamma):\quad"
    r" \frac{\delta}{1-\gamma} - \frac{C\gamma\epsilon_{pef}}{(1-\gamma)^2} D_f(\pi\|\pi_{pef})"
    r" \ge \frac{t}{2(1-\gamma)} E_q A_{old} > 0",
    source=Source("ours"),
    on=chart(
        r=uniform(0, 1),
        gamma=discounts(nearest=1e-3),
        pi=simplex(3, 1, spread=4),
        constant=log_uniform(1e-3, 1e3),
        fraction=uniform(0.1, 1),
    ),
    at_most=(half_first_order, excess_of_stated_bound),
    examples=(
        example(r=".3", gamma=".9", pi=[".4 .35 .25"], constant="2", fraction=".5").giving(
            lhs=".1747277227723", rhs=".3466964707982 .3466965306971 .3480759881409"
        ),
    ),
    coq="no_constant_helps",
    note="A one-state MDP is enough: delta is first order in t and D_f second order, so no finite C_f helps.",
    false=(
        neighbour(
            "at the step 1/2, whatever the constant",
            rhs=lambda r, gamma, pi, constant: excess_at(one_state(r, gamma), pi, constant, 0 * r + 0.5),
        ),
        neighbour("the whole first-order gain is left", lhs=scaled(half_first_order, 2)),
    ),
)
