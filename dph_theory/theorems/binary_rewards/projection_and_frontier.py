"""A7. The filtered model is the I-projection.

Among the fully valid policies the filtered model is the closest to the base, by an identity of Pythagoras'
kind.

A8. The frontier of KL and pass rate, and the excess KL.

KL to the base is the cost of the pass rate, kappa, plus two losses of diversity, among valid and among
invalid answers. kappa is the frontier that no policy passes; what a run lost beyond it, the excess KL, can
be metered.
"""

import numpy as np

from ...binary_reward import bernoulli_kl, excess_kl, filtered, valid_mass
from ...divergences import REVERSE_KL, TOTAL_VARIATION
from ...numeric.elementary import Values, normalised, trailing
from ...references import Source
from ...verification.charts import chart, example, masks, simplex
from ...verification.statement import neighbour, theorem
from .._laws import FOUR, made_valid


def distance_to_base(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(made_valid(policy, valid), base)


def through_filtered(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(made_valid(policy, valid), filtered(base, valid))
    return inside - np.log(valid_mass(base, valid))


def with_sign_turned(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(made_valid(policy, valid), filtered(base, valid))
    return inside + np.log(valid_mass(base, valid))


def exchanged(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(filtered(base, valid), made_valid(policy, valid))
    return inside - np.log(valid_mass(base, valid))


PYTHAGORAS = theorem(
    "A7.pythagoras",
    "For q on Y1, KL(q||a) = KL(q||p_*) - log A1",
    statement=r"q(Y_1) = 1 \;\Rightarrow\; \mathrm{KL}(q\|a) = \mathrm{KL}(q\|p_*) - \log A_1",
    source=Source("dymetman2026binary", "I-projection"),
    on=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    equal=(distance_to_base, through_filtered),
    examples=(FOUR.but(policy=".7 .3 0 0").giving(value="1.4078952152634"),),
    coq="pythagoras",
    false=(
        neighbour("log A1 added", rhs=with_sign_turned),
        neighbour("the KL to p_* with its arguments exchanged", rhs=exchanged),
        neighbour("for every q", at=FOUR, lhs=lambda policy, base: REVERSE_KL(policy, base)),
    ),
)


def margin(policy: Values, base: Values, valid: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(made_valid(policy, valid), filtered(base, valid)))


def farther_than_least(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(made_valid(policy, valid), base) + np.log(valid_mass(base, valid))


def margin_around_uniform(policy: Values, base: Values, valid: Values) -> Values:
    even = filtered(1 / (4 + 0 * base), valid)
    return 2 * np.square(TOTAL_VARIATION(made_valid(policy, valid), even))


CLOSEST = theorem(
    "A7.closest",
    "p_* is the unique fully valid distribution closest to a, at distance -log A1",
    statement=r"q(Y_1) = 1 \;\Rightarrow\; 2\,\mathrm{TV}(q, p_*)^2 \le \mathrm{KL}(q\|a) + \log A_1, \quad"
    r" \mathrm{KL}(p_*\|a) = -\log A_1",
    source=Source("dymetman2026binary", "I-projection"),
    on=chart(policy=simplex(4, zeros=True), base=simplex(4), valid=masks(4)),
    at_most=(margin, farther_than_least),
    examples=(FOUR.but(policy=".7 .3 0 0").giving(lhs=".02", rhs=".0216008541435"),),
    coq="closest",
    false=(
        neighbour(
            "the closest is uniform on Y1",
            at=example(policy="0 1 0 0", base="4e-10 .9599999992 4e-10 .04", valid=[True, True, True, False]),
            lhs=margin_around_uniform,
        ),
        neighbour(
            "for every q",
            at=FOUR,
            rhs=lambda policy, base, valid: REVERSE_KL(policy, base) + np.log(valid_mass(base, valid)),
        ),
    ),
)


def total(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).total


def sum_of_parts(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid + parts.invalid


def without_invalid(policy: Values, base: Values, valid: Values) -> Values:
    parts = excess_kl(policy, base, valid)
    return parts.validity + parts.valid


DECOMPOSITION = theorem(
    "A8.decomposition",
    "KL(q||a) = kl(q(Y1)||A1) + q(Y1) KL(q(.|Y1)||p_*) + q(Y0) KL(q(.|Y0)||p_0)",
    statement=r"\mathrm{KL}(q\|a) = \mathrm{kl}(q(Y_1)\|A_1) + q(Y_1)\,\mathrm{KL}(q(\cdot|Y_1)\|p_*)"
    r" + q(Y_0)\,\mathrm{KL}(q(\cdot|Y_0)\|p_0)",
    source=Source("ours", "chain rule"),
    on=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    equal=(total, sum_of_parts),
    examples=(FOUR.giving(value=".2089771492894"),),
    coq="decomposition",
    false=(neighbour("the invalid part dropped", rhs=without_invalid),),
)


def least_cost(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def cost(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(policy, base)


def exchanged_a08(policy: Values, base: Values, valid: Values) -> Values:
    return bernoulli_kl(valid_mass(base, valid), valid_mass(policy, valid))


FRONTIER = theorem(
    "A8.frontier",
    "KL(q||a) >= kappa(q(Y1)), the frontier of KL and pass rate",
    statement=r"\mathrm{KL}(q\|a) \ge \kappa(q(Y_1)) = \mathrm{kl}(q(Y_1)\|A_1)",
    source=Source("ours", "chain rule"),
    on=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    at_most=(least_cost, cost),
    coq="frontier",
    examples=(FOUR.giving(lhs=".2037800175057", rhs=".2089771492894"),),
    false=(
        neighbour(
            "kl with its arguments exchanged",
            at=example(
                policy="0 .3 .3 0 .4",
                base=".002 .99799997 1e-8 1e-8 1e-8",
                valid=[True, False, False, True, False],
            ),
            lhs=exchanged_a08,
        ),
    ),
)


def frontier_and_distance(policy: Values, base: Values, valid: Values) -> Values:
    return frontier(policy, base, valid) + REVERSE_KL(policy, tilted_to(policy, base, valid))


def frontier(policy: Values, base: Values, valid: Values) -> Values:
    return excess_kl(policy, base, valid).validity


def tilted_to(policy: Values, base: Values, valid: Values) -> Values:
    """The base tilted by e^(v/beta) to the policy's pass rate: beta is negative below the base's own."""
    odds = [valid_mass(law, valid) / valid_mass(law, ~valid) for law in (policy, base)]
    return normalised(np.where(valid, base * trailing(odds[0] / odds[1], 1), base))


EQUALITY = theorem(
    "A8.equality",
    "The cost beyond the frontier is KL(q || mu p_* + (1-mu) p_0): none iff q is that tilt of the base",
    statement=r"\mathrm{KL}(q\|a) - \mathrm{kl}(\mu\|A_1) ="
    r" \mathrm{KL}\big(q\,\|\,\mu p_* + (1-\mu) p_0\big),"
    r"\quad \mu = q(Y_1),\quad \mu p_* + (1-\mu) p_0 \propto a\,e^{v/\beta},\;"
    r" 1/\beta = \mathrm{logit}\,\mu - \mathrm{logit}\,A_1 \text{ of either sign}",
    source=Source("ours", "equality clause"),
    on=chart(policy=simplex(5), base=simplex(5), valid=masks(5)),
    equal=(lambda policy, base: REVERSE_KL(policy, base), frontier_and_distance),
    # Below the base's own pass rate, and on the frontier itself.
    examples=(FOUR.giving(value=".2089771492894"),),
    coq="equality",
    false=(neighbour("every policy is on the frontier", rhs=frontier),),
)
