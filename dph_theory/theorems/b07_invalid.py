"""B7: on invalid outcomes the alpha-DPG reward is -1/alpha, the least reward there is."""

import numpy as np

from ..estimators import alpha_dpg_reward
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, rates, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def on_invalid(pi: Values, base: Values, valid: Values, alpha: Values) -> Values:
    reward = alpha_dpg_reward(pi, base, valid, alpha)
    return np.where(valid, 0 * reward, reward)


def least(pi: Values, valid: Values, alpha: Values) -> Values:
    return np.where(valid, 0 * pi, -1 / trailing(alpha, 1))


THEOREM = Theorem(
    name="B7.invalid",
    title="On invalid outcomes the alpha-DPG reward is -1/alpha",
    source=Source("kruszewski2026whatever"),
    statement=r"v(y) = 0 \implies R(y) = -1/\alpha",
    relation=Relation.EQUAL,
    lhs=on_invalid,
    rhs=least,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4), alpha=rates(low=1e-3, high=1e-3)),
    expected=Verdict.CERTIFIED,
    examples=(example(pi=".2 .3 .5", base=".3 .2 .5", valid=[True, True, False], alpha=".5"),),
    false_neighbours=(
        neighbour("-1, whatever alpha", rhs=lambda pi, valid: np.where(valid, 0 * pi, -1 + 0 * pi)),
        neighbour("0, as a verifier would reward it", rhs=lambda pi: 0 * pi),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
