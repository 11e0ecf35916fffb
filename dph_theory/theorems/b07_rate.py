"""B7: as alpha -> 1 the alpha-DPG reward becomes that of KL-DPG, at a rate linear in 1 - alpha."""

import numpy as np

from ..estimators import alpha_dpg_reward
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, rates, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled


def distance(pi: Values, target: Values, alpha: Values) -> Values:
    """|R_alpha - R_1| at the valid outcomes; `target` is the filtered model on them."""
    everywhere = np.ones(target.shape, dtype=bool)
    return abs(alpha_dpg_reward(pi, target, everywhere, alpha) - (target / pi - 1))


def linear_rate(pi: Values, target: Values, alpha: Values) -> Values:
    # With t = log z, d/d alpha (e^{alpha t} - 1)/alpha = int_0^{alpha t} s e^s ds / alpha^2, which lies
    # between 0 and t^2/2 max(1, e^{alpha t}) <= t^2/2 max(1, z); integrate from alpha to 1.
    return (1 - trailing(alpha, 1)) * np.square(np.log(target / pi)) / 2 * largest(target / pi)


def largest(z: Values) -> Values:
    return np.where(z > 1, z, 1 + 0 * z)


THEOREM = Theorem(
    name="B7.rate",
    title="alpha -> 1 is KL-DPG, at a linear rate",
    source=Source("kruszewski2026whatever"),
    statement=r"\big|R_\alpha(y) - (z - 1)\big| \le (1-\alpha)\,\tfrac12\log^2 z\,\max(1, z),\quad"
    r" z = p_*(y)/\pi(y) > 0",
    relation=Relation.AT_MOST,
    lhs=distance,
    rhs=linear_rate,
    instances=chart(pi=simplex(3), target=simplex(3), alpha=rates(low=0.05, high=1e-6)),
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(example(pi=".5 .5", target=".6 .4", alpha=".9"),),
    false_neighbours=(
        neighbour("a constant 2% smaller", rhs=scaled(linear_rate, 0.98)),
        neighbour(
            "a rate quadratic in 1 - alpha",
            rhs=lambda pi, target, alpha: (1 - trailing(alpha, 1)) * linear_rate(pi, target, alpha),
        ),
        neighbour(
            "without the factor max(1, z)",
            rhs=lambda pi, target, alpha: linear_rate(pi, target, alpha) / largest(target / pi),
        ),
        neighbour("a right side 0.01% smaller", rhs=scaled(linear_rate, 0.9999)),
    ),
    floor=1e-4,  # The bound is tight as z -> 1, where both sides are small.
    digits=6,  # So that rounding seldom makes z = 1 exactly, where both sides vanish and balls cannot decide.
    note="At invalid outcomes the rewards are -1/alpha (B7.invalid) and -1.",
)
