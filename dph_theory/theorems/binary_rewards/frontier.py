"""The policies closest to the base: fully valid ones, and those of a given pass rate.

Among the fully valid policies the filtered model is the closest to the base (I-projection), by an identity of
Pythagoras' kind. Among policies of any pass rate KL to the base is the cost of the pass rate, kappa, plus two
losses of diversity, among correct and among incorrect answers: kappa is the frontier that no policy passes,
and the excess KL beyond it is what the collapse meter measures.
"""

from functools import partial

import numpy as np

from ...binary_reward import bernoulli_kl, excess_kl, filtered, pass_rate
from ...divergences import REVERSE_KL, TOTAL_VARIATION
from ...numeric.elementary import Values, add_axes, normalised
from ...references import Source
from ...verification.charts import chart, example, masks, simplex
from ...verification.statement import neighbour, theorem
from .._policies import FOUR_ANSWERS, moved_onto_valid

POLICIES = chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5))


def distance_to_base(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(moved_onto_valid(policy, valid), base)


def through_filtered(policy: Values, base: Values, valid: Values, sign: int = -1) -> Values:
    inside = REVERSE_KL(moved_onto_valid(policy, valid), filtered(base, valid))
    return inside + sign * np.log(pass_rate(base, valid))


def through_filtered_exchanged(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(filtered(base, valid), moved_onto_valid(policy, valid))
    return inside - np.log(pass_rate(base, valid))


def cost(policy: Values, base: Values) -> Values:
    return REVERSE_KL(policy, base)


PYTHAGORAS = theorem(
    "For q on Y1, KL(q||a) = KL(q||p_*) - log A1",
    statement=r"q(Y_1) = 1 \;\Rightarrow\; \mathrm{KL}(q\|a) = \mathrm{KL}(q\|p_*) - \log A_1",
    source=Source("dymetman2026binary", "Proposition 2.3; I-projection", figure="tilted_to_filtered"),
    on=POLICIES,
    equal=(distance_to_base, through_filtered),
    examples=(FOUR_ANSWERS.but(policy=".7 .3 0 0").giving(value="1.4078952152634"),),
    coq="pythagoras",
    false=(
        neighbour("log A1 added", rhs=partial(through_filtered, sign=1)),
        neighbour("the KL to p_* with its arguments exchanged", rhs=through_filtered_exchanged),
        neighbour("for every q", at=FOUR_ANSWERS, lhs=cost),
    ),
)


def squared_distance_to_filtered(policy: Values, base: Values, valid: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(moved_onto_valid(policy, valid), filtered(base, valid)))


def cost_beyond_least(policy: Values, base: Values, valid: Values) -> Values:
    return distance_to_base(policy, base, valid) + np.log(pass_rate(base, valid))


CLOSEST = theorem(
    "p_* is the unique fully valid distribution closest to a, at distance -log A1",
    statement=r"q(Y_1) = 1 \;\Rightarrow\; 2\,\mathrm{TV}(q, p_*)^2 \le \mathrm{KL}(q\|a) + \log A_1, \quad"
    r" \mathrm{KL}(p_*\|a) = -\log A_1",
    source=Source("dymetman2026binary", "Proposition 2.3; I-projection", figure="tilted_to_filtered"),
    on=chart(policy=simplex(4, zeros=True), base=simplex(4), valid=masks(4)),
    at_most=(squared_distance_to_filtered, cost_beyond_least),
    examples=(FOUR_ANSWERS.but(policy=".7 .3 0 0").giving(lhs=".02", rhs=".0216008541435"),),
    coq="closest",
    false=(
        neighbour(
            "the closest is uniform on Y1",
            at=example(policy="0 1 0 0", base="4e-10 .9599999992 4e-10 .04", valid=[True, True, True, False]),
            lhs=lambda policy, valid: squared_distance_to_filtered(policy, 0 * policy + 1 / 4, valid),
        ),
        neighbour(
            "for every q",
            at=FOUR_ANSWERS,
            rhs=lambda policy, base, valid: REVERSE_KL(policy, base) + np.log(pass_rate(base, valid)),
        ),
    ),
)


def total(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).total


def sum_of_parts(policy: Values, base: Values, valid: Values, share: int = 1) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.pass_rate + parts.valid + share * parts.invalid


def frontier(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).pass_rate


DECOMPOSITION = theorem(
    "KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0)",
    statement=r"\mathrm{KL}(q\|a) = \mathrm{kl}(q(Y_1)\|A_1) + q(Y_1)\,\mathrm{KL}(q(\cdot|Y_1)\|p_*)"
    r" + q(Y_0)\,\mathrm{KL}(q(\cdot|Y_0)\|p_0)",
    source=Source("ours", "chain rule"),
    on=POLICIES,
    equal=(total, sum_of_parts),
    examples=(FOUR_ANSWERS.giving(value=".2089771492894"),),
    coq="decomposition",
    false=(neighbour("the invalid part dropped", rhs=partial(sum_of_parts, share=0)),),
)


def exchanged_frontier(policy: Values, base: Values, valid: Values) -> Values:
    return bernoulli_kl(pass_rate(base, valid), pass_rate(policy, valid))


FRONTIER = theorem(
    "KL(q||a) >= kappa(q(Y1)), the frontier of KL and pass rate",
    statement=r"\mathrm{KL}(q\|a) \ge \kappa(q(Y_1)) = \mathrm{kl}(q(Y_1)\|A_1)",
    source=Source("ours", "chain rule"),
    on=POLICIES,
    at_most=(frontier, cost),
    coq="frontier",
    examples=(FOUR_ANSWERS.giving(lhs=".2037800175057", rhs=".2089771492894"),),
    false=(
        neighbour(
            "kl with its arguments exchanged",
            at=example(
                policy="0 .3 .3 0 .4",
                base=".002 .99799997 1e-8 1e-8 1e-8",
                valid=[True, False, False, True, False],
            ),
            lhs=exchanged_frontier,
        ),
    ),
)


def frontier_and_distance(policy: Values, base: Values, valid: Values) -> Values:
    return frontier(policy, base, valid) + REVERSE_KL(policy, tilted_to(policy, base, valid))


def tilted_to(policy: Values, base: Values, valid: Values) -> Values:
    """Base (batch, outcomes) tilted by e^(v/beta), beta of either sign, to the policy's pass rate."""
    odds, base_odds = (pass_rate(q, valid) / pass_rate(q, ~valid) for q in (policy, base))
    return normalised(np.where(valid, base * add_axes(odds / base_odds, 1), base))


EQUALITY = theorem(
    "The cost beyond the frontier is KL(q || mu p_* + (1-mu) p_0): none iff q is that tilt of the base",
    statement=r"\mathrm{KL}(q\|a) - \mathrm{kl}(\mu\|A_1) ="
    r" \mathrm{KL}\big(q\,\|\,\mu p_* + (1-\mu) p_0\big),"
    r"\quad \mu = q(Y_1),\quad \mu p_* + (1-\mu) p_0 \propto a\,e^{v/\beta},\;"
    r" 1/\beta = \mathrm{logit}\,\mu - \mathrm{logit}\,A_1 \text{ of either sign}",
    source=Source("ours", "equality clause"),
    on=chart(policy=simplex(5), base=simplex(5), valid=masks(5)),
    equal=(cost, frontier_and_distance),
    # Below the base's own pass rate, and on the frontier itself.
    examples=(FOUR_ANSWERS.giving(value=".2089771492894"),),
    coq="equality",
    false=(neighbour("every policy is on the frontier", rhs=frontier),),
)
