"""A2: the plain policy gradient ends uniform on the likeliest valid outcomes, not at the filtered model."""

import numpy as np
import sympy

from ..binary_reward import filtered
from ..flows import orbit, uniform_on_likeliest
from ..numeric.balls import Values, normalised
from ..references import Source
from ..statement.charts import chart, example, integers, masks
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def near_the_end(weights: Values, valid: Values, eps: Values) -> Values:
    return orbit(normalised(weights), valid, np.full(len(weights), eps))


def filtered_model(weights: Values, valid: Values) -> Values:
    return filtered(normalised(weights), valid)


def first_of_the_richest(weights: Values, valid: Values) -> Values:
    return np.eye(weights.shape[-1])[np.where(valid, weights, 0).argmax(axis=-1)]


def derivation() -> Claims:
    # By A2.conserved the flow runs on the orbit with ds1/dt = (1-V)/Z =: g(s1), and g is positive and
    # continuous for s1 in [0, 1/a_top): there all logits are finite, so Z is, and V < 1. A solution of
    # ds/dt = g(s) on a line leaves every interval on which g is bounded away from 0, hence s1 -> 1/a_top.
    # At that end the weight of the richest outcomes, a/(1 - s1 a), is unbounded. All others stay bounded:
    # the other valid ones by a/(1 - a/a_top), the invalid ones, a/(1 + s0 a) with s0 >= 0, by a. The richest
    # share one a, hence one weight: the limit is uniform on them.
    s, a, more = sympy.symbols("s a more", positive=True)
    top = a + more
    left = sympy.Symbol("left", positive=True)
    weight = 1 / (1 / a - s)
    ratio = (weight * (1 / top - s)).subs(s, (1 - left) / top)
    yield Claim("poorer over richest valid weight vanishes at the end", sympy.limit(ratio, left, 0))
    yield Claim("an invalid weight never exceeds a", a - a / (1 + s * a), ">0")
    theta = sympy.Symbol("theta", real=True)
    Z, invalid = sympy.symbols("Z invalid", positive=True)
    # s1 = 1/a_y - e^-theta_y with d theta_y/dt = q_y (1 - V), q_y = e^theta_y/Z and 1 - V = q(Y0) > 0.
    speed = -sympy.diff(sympy.exp(-theta), theta) * sympy.exp(theta) / Z * invalid
    yield Claim("the speed ds1/dt is (1-V)/Z", speed - invalid / Z)
    yield Claim("and positive", speed, ">0")


THEOREM = Theorem(
    name="A2.limit",
    title="The plain policy gradient ends uniform on argmax_{Y1} a",
    source=Source("ours", "implicit bias"),
    statement=r"\dot\theta_y = q_y (v_y - V),\; q(0) = a \;\Rightarrow\;"
    r" \lim_{t\to\infty} q_t = \mathrm{Unif}\big(\operatorname*{argmax}_{Y_1} a\big)",
    relation=Relation.TENDS,
    lhs=near_the_end,
    rhs=lambda weights, valid: uniform_on_likeliest(weights, valid),
    # Whole weights, so that there are ties but no near-ties, whose limits come arbitrarily late.
    instances=chart(weights=integers(1, 9, 4), valid=masks(4)),
    expected=Verdict.PROVED,
    # In the second example a is constant on Y1: only then is the limit p_*.
    examples=(
        example(weights="3 2 1 4", valid=[True, True, True, False]),
        example(weights="2 2 2 4", valid=[True, True, True, False]),
    ),
    symbolic=derivation,
    # Masses are compared absolutely: at eps = 1e-8 a poorer outcome keeps up to about 8 eps.
    tolerance=1e-6,
    floor=1.0,
    false_neighbours=(
        neighbour("the limit is the filtered model p_*", rhs=filtered_model),
        neighbour("ties are broken: one outcome gets all", rhs=first_of_the_richest),
    ),
)
