"""TRPO's bound for the whole family, and its sharp form.

How far the return can fall short of its first-order forecast L_old: by TRPO's penalty, for every divergence
with C_f = 2/f''(1), by a sharp form that a chain of two states attains, and by one with means for maxima.
"""

from typing import Any

import numpy as np

from ...divergences import COMPARED, TOTAL_VARIATION, stacked
from ...improvement import trpo_penalty, worst_advantage
from ...mdp import TabularMDP
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...verification.charts import example
from ...verification.statement import neighbour, theorem
from .._mdps import STEP, STEPS, WORST_CHAINS, around, scaled_loss, scaled_trpo_penalty

CHAIN = STEP.but(gamma=".02", tv=".4", away="0")
"""The chain that attains it, at a small discount."""
BALANCED = STEP.but(gamma=".001", tv=".01", away="0")
"""The balanced step below itself, at a small discount and a small step."""

RANDOM_STEP = example(
    P=[
        [".5 .3 .2", ".1 .6 .3", ".1 .6 .3"],
        [".3 .3 .4", ".2 .7 .1", ".2 .7 .1"],
        [".6 .2 .2", ".1 .2 .7", ".1 .2 .7"],
    ],
    r=["1 0 0", ".5 .2 .2", "0 .8 .8"],
    rho0=".5 .3 .2",
    pi_old=[".5 .5 0", ".3 .7 0", ".6 .4 0"],
    pi=[".6 .4 0", ".35 .65 0", ".5 .5 0"],
    gamma=".5",
    tv=".5",
    away="1",
)

TRPO = theorem(
    "TRPO: J(pi) >= L_old(pi) - 4 eps gamma TVmax^2/(1-gamma)^2",
    statement=r"(1-\gamma)^2 \bigl(L_{old}(\pi) - J(\pi)\bigr) \le 4\epsilon\gamma\max_s \mathrm{TV}_s^2,"
    r"\quad \epsilon = \max|A_{old}|",
    source=Source("schulman2015trpo", "Lemma 2; as li2025choice cites it"),
    on=STEPS,
    at_most=(scaled_loss, scaled_trpo_penalty),
    examples=(RANDOM_STEP.giving(lhs="-.0003915515871", rhs=".0104114385252"),),
    note="On the chain of trpo_bound.attained the ratio of the two sides is 1 - gamma over 1 - gamma +"
    " gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
    coq="trust_region",
    false=(
        neighbour(
            "one factor of 1/(1-gamma)",
            at=CHAIN,
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * scaled_trpo_penalty(mdp, pi, pi_old),
        ),
    ),
)


def divergence_penalties(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return stacked(lambda d: (1 - mdp.gamma) ** 2 * trpo_penalty(mdp, pi, pi_old, d), COMPARED)


def balanced_step(gamma: Values, tv: Values, eps: Values) -> dict[str, Any]:
    """Parts mdp, pi, pi_old: a step of TV distance `tv` from the even policy to the second action.

    The second action leads to state 1, the first to state 0; it pays in state 0 and costs in state 1. As
    gamma and TV tend to 0 the penalties are attained.
    """
    zero, half = 0 * tv, 0.5 + 0 * tv
    to_zero, to_one = np.stack([1 + zero, zero], axis=-1), np.stack([zero, 1 + zero], axis=-1)
    old, new = np.stack([half, half], axis=-1), np.stack([half - tv, half + tv], axis=-1)
    pay = add_axes(eps, 1) * np.stack([-1 + zero, 1 + zero], axis=-1)
    P = np.stack([np.stack([to_zero, to_one], axis=-2)] * 2, axis=-3)
    return {
        "mdp": TabularMDP(P, np.stack([pay, -pay], axis=-2), gamma, old),
        "pi": np.stack([new, new], axis=-2),
        "pi_old": np.stack([old, old], axis=-2),
    }


DIVERGENCE = theorem(
    "Positive policies, four divergences: penalty C_f gamma eps max_s D_f/(1-gamma)^2, C_f = 2/f''(1)",
    statement=r"(1-\gamma)^2 \bigl(L_{old}(\pi) - J(\pi)\bigr) \le C_f\gamma\epsilon\max_s"
    r" D_f(\pi\|\pi_{old}),\quad C_f = 2/f''(1),\; \pi, \pi_{old} > 0",
    source=Source("ours"),
    on=around(balanced_step),
    at_most=(lambda mdp, pi, pi_old: add_axes(scaled_loss(mdp, pi, pi_old), 1), divergence_penalties),
    examples=(
        RANDOM_STEP.giving(
            lhs="-.0003915515871", rhs=".0106253921606 .0106253921606 .0105351054441 .0105443863376"
        ),
    ),
    note="On the balanced step the ratio of the two sides tends to one as gamma and TV tend to 0: no C_f can"
    " be smaller.",
    coq="trust_region_of",
    share=0.2,
    false=(
        neighbour(
            "C_f = 2 for Jensen-Shannon as well",
            at=BALANCED,
            rhs=lambda mdp, pi, pi_old: divergence_penalties(mdp, pi, pi_old)[..., 2:3] / 2,
        ),
    ),
)


def sharp_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # The two policies part at a step with probability at most TV, so that the visitations differ by at most
    # g TV/(1-g+g TV) in total variation; E_pi A_old has a span of at most 4 TV eps over the states.
    tv = np.max(TOTAL_VARIATION(pi, pi_old), axis=-1)
    eps, gamma = worst_advantage(mdp, pi_old), mdp.gamma
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


SHARP = theorem(
    "The sharp form: L - J <= 4 eps gamma TV^2/((1-gamma)(1-gamma+gamma TV))",
    statement=r"(1-\gamma)^2 \bigl(L_{old}(\pi) - J(\pi)\bigr) \le"
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2 (1-\gamma)}{1-\gamma+\gamma\mathrm{TV}},"
    r"\quad \mathrm{TV} = \max_s \mathrm{TV}_s",
    source=Source("ours"),
    on=STEPS,
    at_most=(scaled_loss, sharp_penalty),
    examples=(RANDOM_STEP.giving(lhs="-.0003915515871", rhs=".0094649441138"),),
    note="Attained by the three-action chain of trpo_bound.attained; two actions do not reach it in these"
    " searches.",
    coq="sharp_form",
    false=(
        neighbour(
            "no factor of 1/(1-gamma)",
            at=CHAIN,
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * sharp_penalty(mdp, pi, pi_old),
        ),
    ),
)


def chain_penalty(gamma: Values, tv: Values, eps: Values) -> Values:
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


ATTAINED = theorem(
    "The sharp improvement bound is attained, for every discount, TV up to 1/2 and eps",
    statement=r"\exists\,\mathrm{MDP}:\; (1-\gamma)^2 \bigl(L_{old}(\pi) - J(\pi)\bigr) ="
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2 (1-\gamma)}{1-\gamma+\gamma\mathrm{TV}}",
    source=Source("ours"),
    on=WORST_CHAINS,
    equal=(scaled_loss, chain_penalty),
    examples=(example(gamma=".9", tv=".5", eps="1", value=".1636363636364"),),
    coq="sharp_form_attained",
    false=(neighbour("TRPO's penalty is attained", rhs=lambda gamma, tv, eps: 4 * eps * gamma * tv**2),),
)


def span_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # L - J = sum_s (d_old - d_pi)(s) h(s)/(1-g), h(s) = E_pi A_old(s, .), and d_old, d_pi differ by at most
    # g E_{d_old}[TV_s]/(1-g) in total variation.
    gain = (pi * mdp.advantage(pi_old)).sum(axis=-1)
    mean_distance = (mdp.visitation(pi_old) * TOTAL_VARIATION(pi, pi_old)).sum(axis=-1)
    return mdp.gamma * np.ptp(gain, axis=-1) * mean_distance


def loss_and_span(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return stacked(lambda side: side(mdp, pi, pi_old), (scaled_loss, span_penalty))


def span_and_trpo(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return stacked(lambda side: side(mdp, pi, pi_old), (span_penalty, scaled_trpo_penalty))


SPAN = theorem(
    "Sharper: L - J <= gamma span_s(E_pi A_old)/(1-gamma)^2 E_{d_old}[TV_s], at most TRPO's penalty",
    statement=r"(1-\gamma)^2 \bigl(L_{old}(\pi) - J(\pi)\bigr) \le \gamma\,\mathrm{span}_s(E_\pi A_{old})"
    r"\, E_{d_{old}}[\mathrm{TV}_s] \le 4\epsilon\gamma\max_s \mathrm{TV}_s^2",
    source=Source("ours", "cf. achiam2017cpo"),
    on=STEPS,
    at_most=(loss_and_span, span_and_trpo),
    examples=(RANDOM_STEP.giving(lhs="-.0003915515871 .0035921171084", rhs=".0035921171084 .0104114385252"),),
    coq="shortfall_by_span span_below_trpo",
    false=(
        neighbour(
            "one factor of 1/(1-gamma)",
            at=CHAIN,
            lhs=scaled_loss,
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * span_penalty(mdp, pi, pi_old),
        ),
        neighbour("TRPO's penalty is the smaller one", lhs=scaled_trpo_penalty, rhs=span_penalty),
    ),
)
