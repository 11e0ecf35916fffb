"""A3, fifth claim: under a reverse KL penalty the natural gradient passes the same tilted models, later."""

import numpy as np
import sympy

from ..binary_reward import tilted
from ..flows import integrate, softmax
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def followed(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    """The policy at a time, by the flow of the logits, d theta_y/dt = r_y - E_q r, r = v - beta log(q/a)."""

    def field(theta: Values, valid: Values) -> Values:
        policy = softmax(theta)
        gain = valid - trailing(beta, 1) * np.log(policy / base)
        return gain - (policy * gain).sum(axis=-1, keepdims=True)

    return softmax(integrate(field, base, valid, time))


def delayed(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    return tilted(base, valid, beta / -np.expm1(-beta * time))


def without_delay(base: Values, valid: Values, time: Values) -> Values:
    return tilted(base, valid, 1 / time)


def slowed_harmonically(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    return tilted(base, valid, 1 / time + beta)


def derivation() -> Claims:
    # The log ratios of two outcomes' q/a start at 0 and move at the difference of the two gains r.
    v, w, b, g, t = sympy.symbols("v w b g t", real=True)
    log_ratio, other = sympy.symbols("l k", real=True)
    difference = (v - b * log_ratio) - (w - b * other)
    yield Claim("two gains' difference", difference, equals=(v - w) - b * (log_ratio - other))
    # So g' = (v-w) - b g: e^(bt) g has the slope (v-w) e^(bt), as (v-w)(e^(bt) - 1)/b has; both start at 0,
    # and a difference of no slope is constant (L1.rising). Hence g = (v-w) s, s = (1 - e^(-bt))/b: q is the
    # tilt a e^(v s)/Z, that is p_beta' with 1/beta' = s.
    rate = sympy.Symbol("rate", positive=True)
    target = (sympy.exp(rate * t) - 1) / rate
    yield Claim("the slope of (e^(bt) - 1)/b", sympy.Derivative(target, t), equals=sympy.exp(rate * t))
    slope = rate * sympy.exp(rate * t) * g + sympy.exp(rate * t) * ((v - w) - rate * g)
    yield Claim("the slope of e^(bt) g", slope, equals=(v - w) * sympy.exp(rate * t))
    yield Claim("both start at 0", target.subs(t, 0))
    s = (1 - sympy.exp(-rate * t)) / rate
    yield Claim("times e^(-bt)", sympy.exp(-rate * t) * target, equals=s)


THEOREM = Theorem(
    name="A3.penalised",
    title="With a reverse KL penalty the natural gradient passes the tilted models of (1 - e^(-beta t))/beta",
    source=Source("ours", "natural gradient"),
    statement=r"\dot\theta_y = r_y - E_q r,\; r = v - \beta\log(q/a),\; q_0 = a \;\Rightarrow\;"
    r" q_t = p_{\beta'},\quad 1/\beta' = (1 - e^{-\beta t})/\beta \le \min(t, 1/\beta)",
    relation=Relation.EQUAL,
    lhs=followed,
    rhs=delayed,
    instances=chart(
        base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5), beta=log_uniform(1e-2, 1)
    ),
    expected=Verdict.PROVED,
    given=("L1.rising",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2", beta=".5"),),
    symbolic=derivation,
    certified=False,
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    false_neighbours=(
        neighbour("no delay: beta' = 1/t", rhs=without_delay),
        neighbour("beta' = beta + 1/t, which has both limits", rhs=slowed_harmonically),
        near(1, time=(0.4, 0.001)),
    ),
)
