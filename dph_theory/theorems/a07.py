"""A7. The filtered model is the I-projection.

Among the fully valid policies the filtered model is the closest to the base, by an identity of Pythagoras'
kind.
"""

import numpy as np

from ..binary_reward import filtered, valid_mass
from ..divergences import REVERSE_KL, TOTAL_VARIATION
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import neighbour, theorem
from ._laws import FOUR, made_valid


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
