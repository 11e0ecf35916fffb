"""A3, second claim: the natural gradient flow is the tilted model, with temperature one over time."""

import numpy as np
import sympy

from ..binary_reward import tilted
from ..flows import integrate, natural_gradient, plain_gradient, softmax
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
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
    # A softmax flow is d log q_y/dt = d theta_y/dt - E_q d theta/dt, here v_y - V. The tilted model starts
    # from a at t = 0 and obeys it, on valid and on invalid outcomes; the flow from a is unique.
    t, A1, A0, a = sympy.symbols("t A1 A0 a", positive=True)
    Z = A0 + A1 * sympy.exp(t)
    V = A1 * sympy.exp(t) / Z
    for name, v in (("valid", 1), ("invalid", 0)):
        policy = a * sympy.exp(v * t) / Z
        yield Claim(f"the flow, {name} outcome", sympy.diff(policy, t) / policy - (v - V))
    yield Claim("the start is a, as A0 + A1 = 1", Z.subs(t, 0) - (A0 + A1))


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
    ),
)
