"""A3, second claim: the natural gradient flow is the tilted model, with temperature one over time."""

import numpy as np
import sympy

from ..binary_reward import tilted
from ..flows import integrate, natural_gradient, plain_gradient, softmax
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def followed(base: Values, valid: Values, time: Values) -> Values:
    # From theta = log a the flow keeps sum e^theta at 1, since its velocity is sum q (v - V) = 0: e^theta is
    # the policy itself. (A softmax would hide errors common to all logits.)
    return np.exp(integrate(natural_gradient, base, valid, time))


def plainly_followed(base: Values, valid: Values, time: Values) -> Values:
    return softmax(integrate(plain_gradient, base, valid, time))


def tilted_model(base: Values, valid: Values, time: Values) -> Values:
    return tilted(base, valid, 1 / time)


def derivation() -> Claims:
    # The flow's velocities v_y - V differ by v_y - v_y', which does not change: so theta_y - theta_y' has
    # moved by t (v_y - v_y') (L1.rising, on the difference), and q_t is a e^{v t} up to a factor, that is
    # p_b, b = 1/t.
    v, w, V, t = sympy.symbols("v w V t", real=True)
    yield Claim("two velocities' difference", (v - V) - (w - V), equals=v - w)
    theta, eta = sympy.symbols("theta eta", real=True)
    gap = theta + v * t - (eta + w * t)
    yield Claim("has moved by t (v - w)", sympy.Derivative(gap, t), equals=v - w)
    # The same as a flow of the policy: d log q_y/dt = v_y - V.
    s, A1, A0, a = sympy.symbols("s A1 A0 a", positive=True)
    Z = A0 + A1 * sympy.exp(s)
    for name, value in (("valid", 1), ("invalid", 0)):
        log_policy = sympy.log(a * sympy.exp(value * s) / Z)
        slope = value - A1 * sympy.exp(s) / Z
        yield Claim(f"the flow, {name} outcome", sympy.Derivative(log_policy, s), equals=slope)
    start = A0 + A1 * sympy.exp(t)
    yield Claim("the start is a, as A0 + A1 = 1", start.subs(t, 0), equals=A0 + A1)


THEOREM = Theorem(
    name="A3.path",
    title="Natural gradient: the policy at time t is the tilted model at beta = 1/t",
    source=Source("ours", "natural gradient"),
    statement=r"\dot\theta_y = v_y - V,\; q_0 = a \;\Rightarrow\; q_t = p_{\beta = 1/t}",
    relation=Relation.EQUAL,
    lhs=followed,
    rhs=tilted_model,
    instances=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5)),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    symbolic=derivation,
    certified=False,
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    false_neighbours=(
        neighbour("the plain gradient has the same orbit", lhs=plainly_followed),
        neighbour(
            "time runs 2% faster", rhs=lambda base, valid, time: tilted(base, valid, 1 / (1.02 * time))
        ),
        near(1, time=(0.4, 0.001)),
    ),
)
