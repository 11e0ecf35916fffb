"""Misspecification in any family: near-best members, and how slowly a pass rate may be reached.

The order of pass rate first and KL second needs no finite or compact family, only an optimiser that is exact
to within o(beta). How fast the pass rate is reached depends on the family, and so does whether it collapses.
"""

from functools import partial

import numpy as np

from ...binary_reward import pass_rate, tilted
from ...divergences import REVERSE_KL
from ...numeric.elementary import Values, add_axes, logit, normalised
from ...numeric.roots import rising_root
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, simplex, uniform
from ...verification.statement import neighbour, theorem


def with_slack(base: Values, valid: Values, beta: Values, q: Values, other: Values, extra: Values) -> Values:
    """Slack (batch,) of at least KL(q||p_beta) - KL(other||p_beta): its positive part plus `extra`."""
    target = tilted(base, valid, beta)
    return np.maximum(REVERSE_KL(q, target) - REVERSE_KL(other, target), 0) + extra


def worth_of_slack(
    base: Values, valid: Values, beta: Values, q: Values, other: Values, extra: Values, most: float = np.inf
) -> Values:
    slack = np.minimum(with_slack(base, valid, beta, q, other, extra), most)
    return beta * (REVERSE_KL(other, base) - REVERSE_KL(q, base) + slack)


NEAR_BEST = example(
    base=".15 .1 .45 .3", valid=[True, True, False, False], beta=".5", q=".4 .3 .2 .1", other=".3 .25 .25 .2",
    extra=".1",
)  # fmt: skip

SLACK = theorem(
    "Any two policies, one within e of the other's KL to p_beta: V(r) - V(q) <= beta (K(r) - K(q) + e)",
    statement=r"\mathrm{KL}(q\|p_\beta) \le \mathrm{KL}(r\|p_\beta) + e \;\Rightarrow\; V(r) - V(q) \le"
    r" \beta\,\bigl(K(r) - K(q) + e\bigr),\; K = \mathrm{KL}(\cdot\|a);\quad \beta_n, e_n \to 0,\; V(r) = V^*"
    r" \;\Rightarrow\; V(q_n) \to V^*,\; K(q_n) \le K(r) + e_n",
    source=Source("ours", "misspecification, any family"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 1e2),
        q=simplex(4), other=simplex(4), extra=log_uniform(1e-3, 1)),
    at_most=(lambda q, other, valid: pass_rate(other, valid) - pass_rate(q, valid), worth_of_slack),
    examples=(NEAR_BEST.giving(lhs="-.15", rhs="-.0704454832028"),),
    floor=1.0,
    coq="validity_with_slack validity_in_the_limit",
    note="For any family, compact or not, with V* its supremum: where beta_n and e_n tend to 0, V(q_n) tends"
    " to V*, and K(q_n) is at most K(r) + e_n for every r of V(r) = V*. In units of reward the slack is beta"
    " e: small beta selects among valid policies only if the objective is optimised to within o(beta).",
    false=(neighbour("as if there were no slack", rhs=partial(worth_of_slack, most=0.0),
        at=NEAR_BEST.but(q=".1 .1 .4 .4", other=".4 .3 .2 .1")),),
)  # fmt: skip


def lost_at(base_rate: Values, eps: float, power: float | None = None) -> Values:
    """V* - V at beta = eps over its predicted asymptote (eps^power if given), shape of `base_rate`.

    The family has four independent bits of one rate; words with at most one 1 are correct.
    """

    def excess(x: Values, log_odds: Values) -> Values:
        return 12 * x * (1 - x) ** 2 / eps + logit(x) - log_odds[..., 0]

    low, log_odds = 0 * base_rate + 1e-300, logit(base_rate)
    x = rising_root(excess, low, low + min(10 * eps, 0.3), add_axes(log_odds, 1))
    lost = 6 * x**2 * (1 - x) ** 2 + 4 * x**3 * (1 - x) + x**4
    predicted = 6 * (eps * (log_odds - logit(x)) / 12) ** 2 if power is None else eps**power
    return lost / predicted


RATE = theorem(
    "V* - V may vanish as slowly as (beta log 1/beta)^2: four bits of one rate, correct with at most one 1",
    statement=r"\mathrm{logit}\,a_1 - \mathrm{logit}\,x = \tfrac{12 x (1-x)^2}{\beta}:\quad"
    r" V^* - V = P(\mathrm{Bin}(4, x) \ge 2) \sim 6\,\bigl[\tfrac{\beta}{12}"
    r" (\mathrm{logit}\,a_1 - \mathrm{logit}\,x)\bigr]^2",
    source=Source("ours", "misspecification, any family"),
    on=chart(base_rate=uniform(0.1, 0.6)),
    tends=(lost_at, lambda base_rate: 1 + 0 * base_rate),
    examples=(example(base_rate=".4"),),
    tolerance=1e-4,
    ladder=(1e-2, 1e-4, 1e-6),
    note="The only fully valid member says 0000, so this family collapses, yet no beta reaches V*. With T"
    " bits and fewer than m ones allowed the power is m/(m-1), down to one: o(beta) cannot be improved.",
    false=(neighbour("as beta squared", lhs=partial(lost_at, power=2.0)),),
)

RADIUS = 2.0
"""Logits of the family lie within this distance of the base's."""


def bounded_cost(base: Values, valid: Values, share: Values, logits: Values) -> Values:
    """KL(q||a) - V(q)/beta, (batch,), of q = a e^logits clipped to RADIUS, at beta = share/(2 RADIUS)."""
    q = normalised(base * np.exp(np.clip(logits, -RADIUS, RADIUS)))
    return REVERSE_KL(q, base) - pass_rate(q, valid) * 2 * RADIUS / share


def cost_at_corner(base: Values, valid: Values, share: Values, radius: float = RADIUS) -> Values:
    return bounded_cost(base, valid, share, np.where(valid, radius, -radius))


BOUNDED = theorem(
    "Logits within R of the base's: at every beta below 1/(2R) the best policy is p_(1/(2R))",
    statement=r"q \propto a\,e^\theta,\; |\theta_y| \le R,\; \beta \le \tfrac1{2R}:\quad"
    r" \mathrm{KL}(p_{1/(2R)}\|a) - V(p_{1/(2R)})/\beta \le \mathrm{KL}(q\|a) - V(q)/\beta",
    source=Source("ours", "misspecification, any family"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), share=uniform(0.01, 1), logits=uniform(-3, 3, 4)),
    at_most=(cost_at_corner, bounded_cost),
    examples=(example(base=".3 .2 .1 .4", valid=[True] * 3 + [False], share=".5", logits="2 1 1 -2"),),
    note="So a family without a fully valid member has a critical beta too, and keeps the base's"
    " proportions.",
    false=(neighbour("above it too, at twice the critical beta", lhs=lambda base, valid: cost_at_corner(
        base, valid, 2 + 0 * base[..., 0]), rhs=lambda base, valid: cost_at_corner(
        base, valid, 2 + 0 * base[..., 0], RADIUS / 2)),),
)  # fmt: skip
