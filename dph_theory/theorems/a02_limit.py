"""A2: the plain policy gradient ends uniform on the likeliest valid outcomes, not at the filtered model."""

import numpy as np
import sympy

from ..binary_reward import filtered
from ..flows import orbit, uniform_on_likeliest
from ..numeric.balls import Values, normalised
from ..references import Source
from ..statement.charts import chart, example, integers, masks
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def near_the_end(weights: Values, valid: Values, eps: Values) -> Values:
    return orbit(normalised(weights), valid, np.full(len(weights), eps))


def filtered_model(weights: Values, valid: Values) -> Values:
    return filtered(normalised(weights), valid)


def first_of_the_richest(weights: Values, valid: Values) -> Values:
    return np.eye(weights.shape[-1])[np.where(valid, weights, 0).argmax(axis=-1)]


def derivation() -> Claims:
    # On the orbit (A2.orbit) ds1/dt = (1-V)/Z =: g(s1), for s1 from 0 to 1/a_top, where a_top is the mass
    # of the richest valid outcomes.
    a, more, s, left, theta, Z, invalid = sympy.symbols("a more s left theta Z invalid", positive=True)
    top = a + more
    # s1 = 1/a_y - e^-theta_y with d theta_y/dt = q_y (1 - V), q_y = e^theta_y/Z and 1 - V = q(Y0) > 0.
    speed = -sympy.Derivative(sympy.exp(-theta), theta) * sympy.exp(theta) / Z * invalid
    yield Claim("the speed g = ds1/dt is (1-V)/Z", speed, equals=invalid / Z)
    yield Claim("and positive", invalid / Z, ">0")
    # For any end s below 1/a_top, g is continuous on [0, s], so it has a least value there (L1.least), a
    # positive one; s1 less that value times t rises (L1.rising), so s1 passes s. Hence s1 -> 1/a_top.
    valid = 1 / (1 / a - s)
    domain = (s * top < 1,)
    yield Claim("the valid weights are finite up to there", valid, ">0", where=domain)
    # At the end the weight of the richest, 1/(1/a_top - s1) = a_top/left, is unbounded.
    ratio = (valid * (1 / top - s)).subs(s, (1 - left) / top)
    room = left * a / more - ratio
    yield Claim("poorer over richest valid weight is at most left a/more", room, ">=0", where=(left < 1,))
    # An invalid outcome may be likelier than the richest valid one: f for a, whatever it is.
    f, s0 = sympy.symbols("f s0", positive=True)
    over = f / (1 + s0 * f) / (top / left)
    yield Claim("invalid over richest weight is at most left f/top", left * f / top - over, ">=0")
    # The richest share one a, hence one weight: the limit left -> 0 is uniform on them.


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
    given=("A2.orbit", "L1.least", "L1.rising"),
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
        near(0.1, weights=((7, 3, 5), 0.2)),
    ),
)
