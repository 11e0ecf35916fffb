"""A2, first claim: what the plain policy gradient conserves, along a numerical solution of its flow."""

import numpy as np
import sympy

from ..flows import integrate, plain_gradient, softmax
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def later(base: Values, valid: Values, time: Values) -> Values:
    theta = integrate(plain_gradient, base, valid, time)
    return _with_sum(_within_parts(np.exp(-theta), valid), theta)


def at_the_start(base: Values, valid: Values) -> Values:
    return _with_sum(_within_parts(1 / base, valid), np.log(base))


def across_parts_later(base: Values, valid: Values, time: Values) -> Values:
    theta = integrate(plain_gradient, base, valid, time)
    return _with_sum(_within_parts(np.exp(-theta), np.ones_like(valid)), theta)


def across_parts_at_the_start(base: Values, valid: Values) -> Values:
    return _with_sum(_within_parts(1 / base, np.ones_like(valid)), np.log(base))


def log_ratios_later(base: Values, valid: Values, time: Values) -> Values:
    return _within_parts(integrate(plain_gradient, base, valid, time), valid)


def log_ratios_at_the_start(base: Values, valid: Values) -> Values:
    return _within_parts(np.log(base), valid)


def sum_of_log_policy_later(base: Values, valid: Values, time: Values) -> Values:
    return np.log(softmax(integrate(plain_gradient, base, valid, time))).sum(axis=-1)


def _within_parts(values: Values, valid: Values) -> Values:
    """Each value less that of its part's representative: the first outcome is valid, the last is not."""
    return values - np.where(valid, values[:, :1], values[:, -1:])


def _with_sum(values: Values, theta: Values) -> Values:
    return np.concatenate([values, theta.sum(axis=-1, keepdims=True)], axis=-1)


def derivation() -> Claims:
    # q_y = e^theta_y / Z. Along the flow d/dt e^-theta_y = -e^-theta_y q_y (v_y - V), which no longer
    # depends on y within a part; and d/dt sum theta = sum q v - V sum q. What has slope zero is constant.
    theta, V = sympy.symbols("theta V", real=True)
    Z = sympy.Symbol("Z", positive=True)
    for name, v in (("valid", 1), ("invalid", 0)):
        velocity = sympy.exp(theta) / Z * (v - V)
        slope = sympy.Derivative(sympy.exp(-theta), theta) * velocity
        yield Claim(f"d/dt e^-theta, {name} outcome", slope, equals=-(v - V) / Z)
    # The parts have masses V and W, where V + W = 1.
    W = sympy.Symbol("W", real=True)
    total = V * (1 - V) + W * (0 - V)
    yield Claim("d/dt sum theta is zero at W = 1 - V", total, equals=V * (1 - V - W))


THEOREM = Theorem(
    name="A2.conserved",
    title="Plain policy gradient conserves sum theta, and e^-theta_y - e^-theta_y' within Y1 and within Y0",
    source=Source("ours", "implicit bias"),
    statement=r"\dot\theta_y = q_y (v_y - V) \;\Rightarrow\; \tfrac{d}{dt}\sum_y \theta_y = 0, \quad"
    r" \tfrac{d}{dt}\big(e^{-\theta_y} - e^{-\theta_{y'}}\big) = 0 \text{ if } v_y = v_{y'}",
    relation=Relation.EQUAL,
    lhs=later,
    rhs=at_the_start,
    instances=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="10"),),
    symbolic=derivation,
    certified=False,
    # What the Runge-Kutta steps leave out; e^-theta starts above 1.
    tolerance=1e-6,
    floor=1.0,
    false_neighbours=(
        neighbour(
            "differences of e^-theta between Y1 and Y0 too",
            lhs=across_parts_later,
            rhs=across_parts_at_the_start,
        ),
        neighbour("differences of theta", lhs=log_ratios_later, rhs=log_ratios_at_the_start),
        neighbour(
            "the sum of log q", lhs=sum_of_log_policy_later, rhs=lambda base: np.log(base).sum(axis=-1)
        ),
        near(0.01, time=(0.61, 0.004)),
    ),
)
