"""A2: the orbit of the plain policy gradient in closed form, up to one scalar root."""

import numpy as np
import sympy

from ..flows import integrate, orbit, plain_gradient, softmax
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def followed(base: Values, valid: Values, time: Values) -> Values:
    return softmax(integrate(plain_gradient, base, valid, time))


def on_the_orbit(base: Values, valid: Values, time: Values) -> Values:
    return orbit(base, valid, _left(base, valid, time))


def without_conserved_sum(base: Values, valid: Values, time: Values) -> Values:
    left = _left(base, valid, time)[..., None]
    top = np.where(valid, base, 0).max(axis=-1, keepdims=True)
    weight = np.where(valid, base / (1 - (1 - left) * base / top), base)
    return weight / weight.sum(axis=-1, keepdims=True)


def _left(base: Values, valid: Values, time: Values) -> Values:
    # The richest valid outcome's logit rises most.
    rise = integrate(plain_gradient, base, valid, time) - np.log(base)
    return np.exp(-np.where(valid, rise, -np.inf).max(axis=-1))


def derivation() -> Claims:
    # By A2.conserved e^-theta_y has moved by the same -s1 on all of Y1 and the same s0 on all of Y0, and s1
    # a_y < 1 on Y1 as theta_y is finite. The weights e^theta_y are the inverses. A gain in theta is less
    # the log of a factor, and the gains add up to zero: the factors' product is one.
    a, s0, s1 = sympy.symbols("a s0 s1", positive=True)
    for name, moved, factor in (("valid", -s1, 1 - s1 * a), ("invalid", s0, 1 + s0 * a)):
        domain = (s1 * a < 1,) if name == "valid" else ()
        yield Claim(f"the weight, {name} outcome", 1 / (1 / a + moved), equals=a / factor, where=domain)
        gain = -sympy.log(1 / a + moved) - sympy.log(a)
        yield Claim(f"the gain in theta, {name} outcome", gain, equals=-sympy.log(factor), where=domain)


THEOREM = Theorem(
    name="A2.orbit",
    title="The plain policy gradient moves on a curve: one number, its progress, gives the whole policy",
    source=Source("ours", "implicit bias"),
    statement=r"q_y \propto \frac{a_y}{1 - s_1 a_y} \;(y \in Y_1), \quad q_y \propto \frac{a_y}{1 + s_0 a_y}"
    r" \;(y \in Y_0), \quad \prod_{Y_0} (1 + s_0 a_y) \prod_{Y_1} (1 - s_1 a_y) = 1",
    relation=Relation.EQUAL,
    lhs=followed,
    rhs=on_the_orbit,
    instances=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    expected=Verdict.PROVED,
    given=("A2.conserved",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="10"),),
    symbolic=derivation,
    certified=False,
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    false_neighbours=(
        neighbour("the invalid logits stay (sum theta not conserved)", rhs=without_conserved_sum),
        near(1, base=(0.26, 6e-05)),
    ),
)
