"""The stated improvement bound.

The "enhanced monotonic improvement" of the paper's Theorem 1, whose conclusion public summaries print.
Without a discount it is refuted as it stands: every penalty has a factor gamma, and J = L_old. With a
discount it is refuted under both readings of its Assumption 1, and no constant C_f mends it, since delta is
of first order in the step and the divergence of second.
"""

from functools import partial

import numpy as np

from ...divergences import FORWARD_KL, stacked
from ...improvement import anchor_gain, pinsker_constant, surrogate, worst_advantage
from ...mdp import TabularMDP
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...verification.charts import chart, discounts, example, log_uniform, simplex, uniform
from ...verification.statement import neighbour, refuted, scaled, theorem
from .._mdps import COUNTEREXAMPLE, STATED, TRIPLES, least_stated_bound, normalised_return

STATED_SOURCE = Source("li2025choice", "Theorem 1; cf. kang2018pofd", figure="bounds")


def one_state(r: Values, gamma: Values) -> TabularMDP:
    """Bandit as an MDP of one state, with rewards (1, r, 0); r and gamma have shape (batch,)."""
    one = 1 + 0 * r
    rewards = np.stack([one, r, 0 * r], axis=-1)[..., None, :]
    return TabularMDP(
        np.broadcast_to(add_axes(one, 3), (*one.shape, 1, 3, 1)), rewards, gamma, one[..., None]
    )


def one_step_bonus(r: Values, pi: Values, pi_old: Values, pi_pef: Values, share: float = 1) -> Values:
    """L_old(pi) + share * delta, (batch,), of the bandit `one_state` at gamma = 0, without a penalty."""
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
    " no reading of Assumption 1; dph_theorem_1.old and .new are its two readings.",
    coq="stated_without_future",
    false=(neighbour("with half of the bonus", lhs=partial(one_step_bonus, share=0.5)),),
)


NOTES = {
    "old": "The conclusion is the paper's. Its Assumption 1 and C_f are not in the summaries and are readings"
    " here: C_f = 2/f''(1). The bound fails under both readings of delta, this one and dph_theorem_1.new, for"
    " every C_f (dph_theorem_1.generic), and at gamma = 0 without any reading (dph_theorem_1.undiscounted)."
    " What holds instead: anchor_bound and rehearsal_guarantee.",
    "new": "At pi = pi_old the two readings coincide, so one counterexample serves both; see"
    " dph_theorem_1.old for what holds instead.",
}


def explained() -> list[str]:
    """Lines of text: claim, counterexample in full, why no constant helps, what is true, next command."""
    parts = {name: np.asarray(part, float) for name, part in COUNTEREXAMPLE.parts.items()}
    mdp = TabularMDP(*(parts[name] for name in ("P", "r", "gamma", "rho0")))
    pi, old, pef = parts["pi"], parts["pi_old"], parts["pi_pef"]
    g, lead = mdp.gamma.item(), anchor_gain(mdp, old, pef).item()
    away, constant = FORWARD_KL(pi, pef).max(), pinsker_constant(FORWARD_KL)
    eps, eps_pef = worst_advantage(mdp, old).item(), worst_advantage(mdp, pef).item()
    bonus = lead / (1 - g) - constant * g * away * eps_pef / (1 - g) ** 2
    policies = [f"({', '.join(f'{mass:g}' for mass in policy.ravel())})" for policy in (old, pef)]
    left = (mdp.return_(pi) - surrogate(mdp, pi, old)).item()
    return [
        "Theorem 1 of Li et al.: close to a better policy pi_pef an update improves by",
        "  J(pi) - L_old(pi) >= -2 g alpha_1 eps_pi/(1-g)^2 + eps_f",
        "  eps_f = delta/(1-g) - C_f g alpha_2 eps_pef/(1-g)^2",
        "g: discount; eps: largest |A|; delta: least advantage of pi_pef over pi_old;",
        "alpha_1 = max_s KL(pi||pi_old), alpha_2 = max_s D_f(pi||pi_pef). It is false.",
        f"Counterexample: one state, rewards 1 and 0, g = {g:g}, forward KL, C_f = {constant:g},",
        f"  pi = pi_old = {policies[0]}, pi_pef = {policies[1]}: delta = {lead:g},",
        f"  alpha_1 = 0, alpha_2 = {away:.6f}, eps_pi = {eps:g}, eps_pef = {eps_pef:g}.",
        f"  Left side J - L_old = {left:g}, right side eps_f = {bonus:.4f}.",
        "No C_f helps: delta is of first order in the lead of pi_pef and D_f of second,",
        "  so a smaller lead fails. At g = 0 the claim says delta <= 0 for every policy.",
        "What holds: J(pi) >= J_old + (delta - max_s TV(pi, pi_pef) span A_pef)/(1-g),",
        "  and Pass@1 >= exp(-KL(p_*||pi)). Our readings: Assumption 1 (over pi for",
        "  pi_old it fails too) and C_f = 2/f''(1). Figure: dph figures bounds",
        "Next: dph verify anchor_bound",
    ]


STATED_BOUND = {
    reading: refuted(
        f"Theorem 1 with delta below E_pef A_{reading}: refuted for three divergences",
        statement=r"J(\pi) - L_{old}(\pi) \ge -\tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
        r" + \epsilon_f,\quad \epsilon_f = \tfrac{\delta}{1-\gamma}"
        r" - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2}"
        rf",\quad \delta \le E_{{\pi_{{pef}}}} A_{{{policy}}}(s,\cdot)",
        source=STATED_SOURCE,
        on=TRIPLES,
        at_most=(partial(least_stated_bound, reading=reading), normalised_return),
        examples=(COUNTEREXAMPLE,),
        # The scale of a normalised return, (1-gamma) J.
        floor=1.0,
        note=NOTES[reading],
        explained=explained if reading == "old" else None,
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
    """Step (batch,) towards `anchor`: a fraction of the largest that is surely small enough.

    Rewards span 1. The step is at most 1/2 and any pi(a), so that u stays in [1/2, 2], where f'' <= 4; and at
    most (1-g) E_q A_old/(16 C g chi^2(q || pi)), which is (1-g) E_pi r/(16 C g).
    """
    mean = (pi * mdp.r).sum(axis=-1)[..., 0]
    enough = (1 - mdp.gamma) * mean / (16 * constant * mdp.gamma)
    return fraction * np.minimum(np.minimum(enough, np.min(pi, axis=-1)[..., 0]), 0.5)


def anchor(mdp: TabularMDP, pi: Values, step: Values) -> Values:
    """Reference (1-step) pi + step q, (batch, 1, actions), with q proportional to pi times the reward."""
    better = pi * mdp.r
    return (1 - add_axes(step, 2)) * pi + add_axes(step, 2) * better / better.sum(axis=-1, keepdims=True)


def half_first_order(r: Values, gamma: Values, pi: Values) -> Values:
    """Half of E_q A_old = Var_pi(r)/E_pi r, (batch, 1); the penalty takes at most the other half."""
    rewards = one_state(r, gamma).r
    mean = (pi * rewards).sum(axis=-1)
    return add_axes(((pi * np.square(rewards - mean[..., None])).sum(axis=-1) / mean)[..., 0] / 2, 1)


def excess_at(mdp: TabularMDP, pi: Values, constant: Values, step: Values) -> Values:
    """(Theorem 1's right side - J)(1-gamma)/step at pi = pi_old with `constant` for C_f, (batch, 3)."""
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
    "For every constant C, gamma < 1 and pi there is a small step at which the stated bound exceeds J",
    statement=r"\pi = \pi_{old} > 0,\; \pi_{pef} = (1-t)\pi + tq,\; q \propto \pi r,\; t = t(C, \gamma, \pi):"
    r"\quad \frac{1}{t}\Bigl(\delta - \frac{C\gamma\epsilon_{pef}}{1-\gamma} D_f(\pi\|\pi_{pef})\Bigr)"
    r" \ge \tfrac12 E_q A_{old} > 0",
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
    note="One state with rewards 1, r and 0 is enough: delta is first order in t and D_f second order, so no"
    " finite C_f helps.",
    false=(
        neighbour(
            "at the step 1/2, whatever the constant",
            rhs=lambda r, gamma, pi, constant: excess_at(one_state(r, gamma), pi, constant, 0 * r + 0.5),
        ),
        neighbour("the whole first-order gain is left", lhs=scaled(half_first_order, 2)),
    ),
)
