"""The anchor bound.

What closeness to a better policy, the anchor pi_pef, guarantees, in the place of the stated bound. It holds
for every divergence, beside TRPO's bound and mixed with it, and says exactly when it promises an improvement.
"""

from dataclasses import replace

import numpy as np

from ...divergences import COMPARED, TOTAL_VARIATION, stacked
from ...improvement import (
    anchor_bound,
    anchor_gain,
    anchor_penalty,
    best_bound,
    pinsker_constant,
    trpo_bound,
    weighted,
    worst_advantage,
)
from ...mdp import TabularMDP
from ...numeric.elementary import Values, add_axes
from ...references import Source
from ...verification.charts import Chart, chart, example, rates, uniform
from ...verification.statement import neighbour, theorem
from .._mdps import EVEN, SMALL_TRIPLES, TRIPLE, TRIPLES, shortfall, with_mdp


def gain_promised(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    """Lower bound delta - penalty on (1-gamma)(J(pi) - J(pi_old)), (batch,), for pi near pi_pef."""
    return anchor_gain(mdp, pi_old, pi_pef) - anchor_penalty(mdp, pi, pi_pef)


def scaled_gain(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return (1 - mdp.gamma) * (mdp.return_(pi) - mdp.return_(pi_old))


def gain_promised_to_second_order(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    penalty = np.max(TOTAL_VARIATION(pi, pi_pef), axis=-1) * anchor_penalty(mdp, pi, pi_pef)
    return anchor_gain(mdp, pi_old, pi_pef) - penalty


RANDOM_TRIPLE = example(
    P=[[".5 .3 .2", ".1 .6 .3"], [".3 .3 .4", ".2 .7 .1"], [".6 .2 .2", ".1 .2 .7"]],
    r=["1 0", ".5 .2", "0 .8"],
    rho0=".5 .3 .2",
    pi_old=[".5 .5", ".3 .7", ".6 .4"],
    pi=[".6 .4", ".35 .65", ".5 .5"],
    pi_pef=[".8 .2", ".6 .4", ".2 .8"],
    gamma=".5",
    weight=".4",
    share=".25",
)

ANCHOR = theorem(
    "Anchor bound: J(pi) >= J_old + (delta - max_s TV_s(pi, pi_pef) span A_pef(s, .))/(1-gamma)",
    statement=r"J(\pi) \ge J_{old} + \frac{\delta - \max_s \mathrm{TV}_s(\pi, \pi_{pef})\,"
    r"\mathrm{span} A_{pef}(s,\cdot)}{1-\gamma},\quad \delta = \min_s E_{\pi_{pef}} A_{old}(s,\cdot)",
    source=Source("ours"),
    on=TRIPLES,
    at_most=(gain_promised, scaled_gain),
    examples=(RANDOM_TRIPLE.giving(lhs="-.1327606890836", rhs=".0657353599976"),),
    # Near gamma = 1 returns of 1e3 are subtracted.
    floor=0.01,
    coq="anchored",
    false=(
        neighbour(
            "second order in the distance, as TRPO's penalty is", at=EVEN, lhs=gain_promised_to_second_order
        ),
    ),
)


def shortfalls(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return add_axes(shortfall(mdp, pi, pi_old, pi_pef), 1)


def penalties(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return stacked(lambda d: anchor_penalty(mdp, pi, pi_pef, d), COMPARED)


def linear_penalties(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    """Penalty linear in D_f, eps_pef C_f max_s D_f(pi || pi_pef), (batch, divergences)."""
    eps = worst_advantage(mdp, pi_pef)
    return stacked(lambda d: weighted(eps * pinsker_constant(d), np.max(d(pi, pi_pef), axis=-1)), COMPARED)


def penalties_without_curvature(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    eps = worst_advantage(mdp, pi_pef)
    return stacked(lambda d: weighted(2 * eps, np.sqrt(np.max(d(pi, pi_pef), axis=-1) / 2)), COMPARED)


DIVERGENCE = theorem(
    "Anchor bound for four divergences: penalty 2 eps_pef sqrt(max_s D_f(pi || pi_pef)/(2 f''(1)))",
    statement=r"J(\pi) \ge J_{old} + \frac{\delta - 2\epsilon_{pef}\sqrt{\alpha_2/(2f''(1))}}{1-\gamma},"
    r"\quad \alpha_2 = \max_s D_f(\pi\|\pi_{pef}),\; \pi, \pi_{pef} > 0",
    source=Source("ours", "with gilardoni2010pinsker"),
    on=SMALL_TRIPLES,
    at_most=(shortfalls, penalties),
    examples=(
        RANDOM_TRIPLE.giving(
            lhs=".0299998700793", rhs=".533811921681 .5743665669492 .5474069438568 .5508791639592"
        ),
    ),
    coq="anchored_of",
    false=(
        neighbour("linear in the divergence, as in the stated bound", at=EVEN, rhs=linear_penalties),
        neighbour("f''(1) = 1 for Jensen-Shannon as well", at=EVEN, rhs=penalties_without_curvature),
    ),
)


def best_and_mixture(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values, weight: Values) -> Values:
    mixture = weight * trpo_bound(mdp, pi, pi_old) + (1 - weight) * anchor_bound(mdp, pi, pi_old, pi_pef)
    return np.stack([best_bound(mdp, pi, pi_old, pi_pef), mixture], axis=-1)


def trpo_bound_and_gain(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return add_axes(trpo_bound(mdp, pi, pi_old) + gain_promised(mdp, pi, pi_old, pi_pef) / (1 - mdp.gamma), 1)


MAXIMUM = theorem(
    "The maximum of the TRPO and anchor bounds holds, and any convex combination",
    statement=r"J(\pi) \ge \max(B_{TRPO}, B_{anchor}),\quad"
    r" J(\pi) \ge w B_{TRPO} + (1-w) B_{anchor},\; 0 \le w \le 1",
    source=Source("ours"),
    on=chart(**TRIPLES.parts, weight=uniform(0, 1)).deriving(with_mdp),
    at_most=(best_and_mixture, lambda mdp, pi: add_axes(mdp.return_(pi), 1)),
    examples=(RANDOM_TRIPLE.giving(lhs=".8495477710136 .6372796883857", rhs=".8927597314628"),),
    # Rounding of (1-gamma) J is relative to the scale of the rewards, not to J itself.
    floor=0.1,
    coq="both_bounds",
    false=(
        neighbour(
            "the gains of both bounds added, as stated",
            at=TRIPLE.but(gamma=".01", pi=[".1 .9", ".1 .9"], weight=".5"),
            lhs=trpo_bound_and_gain,
        ),
    ),
)


_WITHOUT_PI = {name: part for name, part in TRIPLES.parts.items() if name != "pi"}
MIXTURES: Chart = replace(TRIPLES, parts={**_WITHOUT_PI, "share": rates(low=1e-3, high=1e-3)})
"""The policy of the bound is pi_pef with that share of pi_old mixed in."""


def promise(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    """(1-gamma)(anchor bound - J(pi_old)) of the mixture share pi_old + (1-share) pi_pef, (batch,)."""
    mixture = (1 - add_axes(share, 2)) * pi_pef + add_axes(share, 2) * pi_old
    return (1 - mdp.gamma) * (anchor_bound(mdp, mixture, pi_old, pi_pef) - mdp.return_(pi_old))


def least_gain(mdp: TabularMDP, pi_old: Values, pi_pef: Values) -> Values:
    """delta (batch,): least gain over states from one action of pi_pef before following pi_old."""
    return np.min((pi_pef * mdp.action_value(pi_old)).sum(axis=-1) - mdp.value(pi_old), axis=-1)


def gain_less_share(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    """delta - share max_s TV(pi_old, pi_pef) span Q_pef, (batch,): the bound on a mixture's gain."""
    distance, span = abs(pi_old - pi_pef).sum(axis=-1) / 2, np.ptp(mdp.action_value(pi_pef), axis=-1)
    return least_gain(mdp, pi_old, pi_pef) - share * np.max(distance * span, axis=-1)


def gain_over_horizon(mdp: TabularMDP, pi_old: Values, pi_pef: Values, share: Values) -> Values:
    over = mdp.gamma / (1 - mdp.gamma)
    return gain_less_share(mdp, pi_old, pi_pef, share) + over * least_gain(mdp, pi_old, pi_pef)


BEATS = theorem(
    "Mixed with a share w of the old policy, the anchor's bound exceeds J_old iff w c < delta",
    statement=r"\pi_w = (1-w)\,\pi_{pef} + w\,\pi_{old}:\quad (1-\gamma)(B_{anchor}(\pi_w) - J_{old})"
    r" = \delta - w\,c,\quad c = \max_s \mathrm{TV}_s(\pi_{old},\pi_{pef})\,\mathrm{span} A_{pef}(s,\cdot),"
    r"\quad \text{so}\quad B_{anchor} > J_{old} \iff w < \delta/c",
    source=Source("ours"),
    on=MIXTURES,
    equal=(promise, gain_less_share),
    examples=(RANDOM_TRIPLE.giving(value=".0151318488099"),),
    # Near gamma = 1 values of 1e3 are subtracted.
    floor=0.1,
    coq="anchor_beats",
    false=(
        neighbour("the gain over the whole horizon, delta/(1-gamma)", rhs=gain_over_horizon),
        neighbour(
            "of second order in the share, as TRPO's penalty is",
            rhs=lambda mdp, pi_old, pi_pef, share: gain_less_share(mdp, pi_old, pi_pef, share * share),
        ),
    ),
)


def without_future(P: Values, r: Values, rho0: Values) -> dict[str, TabularMDP]:
    """Part `mdp` of a test case, with discount 0."""
    return {"mdp": TabularMDP(P, r, 0 * rho0[..., 0], rho0)}


def half_discounted(P: Values, r: Values, rho0: Values) -> dict[str, TabularMDP]:
    """Part `mdp` of a test case, with discount 1/2."""
    return {"mdp": TabularMDP(P, r, 0.5 + 0 * rho0[..., 0], rho0)}


WITHOUT_GAMMA = chart(**{name: part for name, part in SMALL_TRIPLES.parts.items() if name != "gamma"})

MYOPIC = theorem(
    "At gamma = 0 the anchor bound never beats TRPO's",
    statement=r"\gamma = 0 \implies B_{anchor} \le B_{TRPO} = J(\pi)",
    source=Source("ours"),
    on=WITHOUT_GAMMA.deriving(without_future),
    at_most=(anchor_bound, trpo_bound),
    examples=(RANDOM_TRIPLE.giving(lhs=".251", rhs=".4715"),),
    coq="myopic",
    false=(
        neighbour("at gamma = 1/2 neither", at=TRIPLE, instances=WITHOUT_GAMMA.deriving(half_discounted)),
        neighbour("TRPO's never beats the anchor bound", lhs=trpo_bound, rhs=anchor_bound),
    ),
)
