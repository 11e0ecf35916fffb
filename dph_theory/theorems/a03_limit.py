"""A3, fourth claim: the natural gradient flow ends at the filtered model, exponentially fast."""

import numpy as np
import sympy

from ..binary_reward import filtered, tilted, valid_mass
from ..divergences import TOTAL_VARIATION
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled


def distance_to_filtered(base: Values, valid: Values, time: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), filtered(base, valid))


def distance_to_uniform(base: Values, valid: Values, time: Values) -> Values:
    even = filtered(0 * base + np.asarray(1 + 0 * base[:, :1]) / base.shape[-1], valid)
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), even)


def exponential(base: Values, valid: Values, time: Values) -> Values:
    return valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-time)


def derivation() -> Claims:
    # By A6.variation, at beta = 1/t, the distance is 1 - mu = A0/(A0 + A1 e^t).
    A0, A1, t = sympy.symbols("A0 A1 t", positive=True)
    rate = A0 / A1 * sympy.exp(-t)
    yield Claim("the bound's room", rate - A0 / (A0 + A1 * sympy.exp(t)), ">0")
    yield Claim("the bound vanishes as t grows, as it is below (A0/A1)/t", A0 / A1 / t - rate, ">0")


THEOREM = Theorem(
    name="A3.limit",
    title="Natural gradient ends at the filtered model: TV(q_t, p_*) <= (A0/A1) e^-t",
    source=Source("ours", "natural gradient"),
    statement=r"q_t = p_{1/t} \;\Rightarrow\; \mathrm{TV}(q_t, p_*) \le \frac{A_0}{A_1}\, e^{-t} \to 0",
    relation=Relation.AT_MOST,
    lhs=distance_to_filtered,
    rhs=exponential,
    instances=chart(base=simplex(5), valid=masks(5), time=uniform(1e-3, 50)),
    expected=Verdict.PROVED,
    given=("A6.variation",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a constant 2% smaller", rhs=scaled(exponential, 0.98)),
        neighbour("the limit is uniform on Y1", lhs=distance_to_uniform),
        masses_clamped("base", 1e-8),
    ),
)
