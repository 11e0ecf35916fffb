"""A3. The natural gradient selects the filtered model.

The natural gradient of the expected reward passes the tilted models in order, beta = 1/t, keeps all ratios
among valid answers, and ends at the filtered model; with a reverse KL penalty it takes the same path,
later.
"""

import numpy as np
import sympy

from ..binary_reward import filtered, tilted, valid_mass
from ..divergences import TOTAL_VARIATION
from ..dynamics.decision import integrate, natural_gradient, plain_gradient, softmax
from ..estimators import reward_gradient
from ..numeric.balls import Values, is_ball, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import Claim, FalseStep, Steps, derived, neighbour, scaled
from ._laws import RUN, RUNS, lost_with_penalty, lost_without


def fisher_times_field(policy: Values, valid: Values) -> Values:
    """E_q[score (score . (v - V))], the Fisher information applied to v - V."""
    return _fisher_times(policy, valid - trailing(valid_mass(policy, valid), 1))


def fisher_times_plain(policy: Values, valid: Values) -> Values:
    return _fisher_times(policy, reward_gradient(policy, valid))


def _fisher_times(policy: Values, direction: Values) -> Values:
    outcomes = policy.shape[-1]
    # Row y is the score of outcome y in logits, its indicator less q.
    score = np.eye(outcomes, dtype=int if is_ball(policy) else float) - policy[:, None, :]
    along = (score * direction[:, None, :]).sum(axis=-1)
    return (trailing(policy * along, 1) * score).sum(axis=-2)


def fisher_image(policy: Values, valid: Values) -> Values:
    return reward_gradient(policy, valid)


def field_steps() -> Steps:
    yield (
        "F = diag(q) - q q', so (F (v - V))_y = q_y (v_y - V) - q_y sum q (v - V), and the sum, over parts "
        "of the masses V and W with V + W = 1, is zero."
    )
    q, v, V, W = sympy.symbols("q v V W", real=True)
    mean = V * (1 - V) + W * (0 - V)
    yield Claim("sum q (v - V) is zero at W = 1 - V", mean, equals=V * (1 - V - W))
    image = q * (v - V) - q * V * (1 - V - W)
    yield Claim("F (v - V) is the plain gradient q (v - V)", sympy.Subs(image, W, 1 - V), equals=q * (v - V))
    yield FalseStep("without the mean", sympy.Subs(image, W, 1 - V), equals=q * v)


FIELD = derived(
    "A3.field",
    "v - V is the natural gradient of E_q v: the Fisher matrix maps it to the plain gradient",
    statement=r"F\,(v - V) = \nabla_\theta\, \mathbb{E}_q v, \quad F = \mathrm{diag}(q) - q q^\top",
    source=Source("ours", "natural gradient"),
    on=chart(policy=simplex(4, zeros=True), valid=masks(4)),
    equal=(fisher_times_field, fisher_image),
    derivation=field_steps,
    false=(
        neighbour(
            "the plain gradient is its own natural gradient",
            at=example(policy=".01 .03 .93 .03", valid=[True, True, False, False]),
            lhs=fisher_times_plain,
        ),
    ),
)


def followed(base: Values, valid: Values, time: Values) -> Values:
    # From theta = log a the flow keeps sum e^theta at 1, since its velocity is sum q (v - V) = 0: e^theta is
    # the policy itself. (A softmax would hide errors common to all logits.)
    return np.exp(integrate(natural_gradient, base, valid, time))


def plainly_followed(base: Values, valid: Values, time: Values) -> Values:
    return softmax(integrate(plain_gradient, base, valid, time))


def tilted_model(base: Values, valid: Values, time: Values) -> Values:
    return tilted(base, valid, 1 / time)


def path_steps() -> Steps:
    yield (
        "The flow's velocities v_y - V differ by v_y - v_y', which does not change: so theta_y - theta_y' "
        "has moved by t (v_y - v_y') (L1.rising, on the difference), and q_t is a e^{v t} up to a factor, "
        "that is p_b, b = 1/t."
    )
    v, w, t = sympy.symbols("v w t", real=True)
    theta, eta = sympy.symbols("theta eta", real=True)
    gap = theta + v * t - (eta + w * t)
    yield Claim("has moved by t (v - w)", sympy.Derivative(gap, t), equals=v - w)
    yield FalseStep("twice as fast", sympy.Derivative(gap, t), equals=2 * (v - w))
    yield "The same as a flow of the policy: d log q_y/dt = v_y - V."
    s, A1, A0, a = sympy.symbols("s A1 A0 a", positive=True)
    Z = A0 + A1 * sympy.exp(s)
    for name, value in (("valid", 1), ("invalid", 0)):
        log_policy = sympy.log(a * sympy.exp(value * s) / Z)
        slope = value - A1 * sympy.exp(s) / Z
        yield Claim(f"the flow, {name} outcome", sympy.Derivative(log_policy, s), equals=slope)
    start = A0 + A1 * sympy.exp(t)
    yield Claim("the start is a, as A0 + A1 = 1", sympy.Subs(start, t, 0), equals=A0 + A1)


PATH = derived(
    "A3.path",
    "Natural gradient: the policy at time t is the tilted model at beta = 1/t",
    statement=r"\dot\theta_y = v_y - V,\; q_0 = a \;\Rightarrow\; q_t = p_{\beta = 1/t}",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5)),
    equal=(followed, tilted_model),
    given=("L1.rising",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    derivation=path_steps,
    certified=False,
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    false=(
        neighbour("the plain gradient has the same orbit", lhs=plainly_followed),
        neighbour(
            "time runs 2% faster", rhs=lambda base, valid, time: tilted(base, valid, 1 / (1.02 * time))
        ),
    ),
)


def inside_valid(base: Values, valid: Values, time: Values) -> Values:
    return filtered(tilted(base, valid, 1 / time), valid)


def ratios_steps() -> Steps:
    x, y, V, t = sympy.symbols("theta eta V t", real=True)
    yield (
        "Valid outcomes have the velocities 1 - V; theta and eta are two of their logits at the start, log a "
        "and log b, so that e^(theta - eta) = a/b."
    )
    later = sympy.exp(x + t * (1 - V)) / sympy.exp(y + t * (1 - V))
    yield Claim("the ratio of two valid outcomes", later, equals=sympy.exp(x - y))
    yield FalseStep(
        "of a valid and an invalid one",
        sympy.exp(x + t * (1 - V)) / sympy.exp(y - t * V),
        equals=sympy.exp(x - y),
    )


RATIOS = derived(
    "A3.ratios",
    "Natural gradient keeps the ratios inside Y1: q_t(.|Y1) = p_*",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; q_t(\cdot \mid Y_1) = p_* \text{ for every } t",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=log_uniform(1e-3, 1e3)),
    equal=(inside_valid, filtered),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    derivation=ratios_steps,
    false=(
        neighbour("the whole policy stays", lhs=lambda base, valid, time: tilted(base, valid, 1 / time)),
        neighbour(
            "the conditional sharpens as a base tempered by 2%",
            rhs=lambda base, valid: filtered(base**1.02 / (base**1.02).sum(axis=-1, keepdims=True), valid),
        ),
    ),
)


def distance_to_filtered(base: Values, valid: Values, time: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), filtered(base, valid))


def distance_to_uniform(base: Values, valid: Values, time: Values) -> Values:
    even = filtered(0 * base + np.asarray(1 + 0 * base[:, :1]) / base.shape[-1], valid)
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), even)


def exponential(base: Values, valid: Values, time: Values) -> Values:
    return valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-time)


def limit_steps() -> Steps:
    yield "By A6.variation, at beta = 1/t, the distance is 1 - mu = A0/(A0 + A1 e^t)."
    A0, A1, t = sympy.symbols("A0 A1 t", positive=True)
    rate = A0 / A1 * sympy.exp(-t)
    yield Claim("the bound's room", rate - A0 / (A0 + A1 * sympy.exp(t)), ">0")
    yield Claim("the bound vanishes as t grows, as it is below (A0/A1)/t", A0 / A1 / t - rate, ">0")
    yield FalseStep("with the growing exponential", A0 / A1 / t - A0 / A1 * sympy.exp(t), ">0")


LIMIT = derived(
    "A3.limit",
    "Natural gradient ends at the filtered model: TV(q_t, p_*) <= (A0/A1) e^-t",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; \mathrm{TV}(q_t, p_*) \le \frac{A_0}{A_1}\, e^{-t} \to 0",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=uniform(1e-3, 50)),
    at_most=(distance_to_filtered, exponential),
    given=("A6.variation",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2"),),
    derivation=limit_steps,
    tight=example(base=".2 .2 .2 .2 .2", valid=[True, True, False, True, False], time="6"),
    false=(
        neighbour(
            "a constant 2% smaller",
            at=example(base=".1 .62 .1 .09 .09", valid=[True, False, False, True, False], time="8"),
            rhs=scaled(exponential, 0.98),
        ),
        neighbour("the limit is uniform on Y1", lhs=distance_to_uniform),
    ),
)


def penalised_flow(base: Values, valid: Values, time: Values, beta: Values) -> Values:
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


def penalised_steps() -> Steps:
    yield "The log ratios of two outcomes' q/a start at 0 and move at the difference of the two gains r."
    v, w, b, g, t = sympy.symbols("v w b g t", real=True)
    log_ratio, other = sympy.symbols("l k", real=True)
    difference = (v - b * log_ratio) - (w - b * other)
    yield Claim("two gains' difference", difference, equals=(v - w) - b * (log_ratio - other))
    yield (
        "So g' = (v-w) - b g: e^(bt) g has the slope (v-w) e^(bt), as (v-w)(e^(bt) - 1)/b has; both start at "
        "0, and a difference of no slope is constant (L1.rising). Hence g = (v-w) s, s = (1 - e^(-bt))/b: q "
        "is the tilt a e^(v s)/Z, that is p_beta' with 1/beta' = s."
    )
    rate = sympy.Symbol("rate", positive=True)
    target = (sympy.exp(rate * t) - 1) / rate
    yield Claim("the slope of (e^(bt) - 1)/b", sympy.Derivative(target, t), equals=sympy.exp(rate * t))
    slope = rate * sympy.exp(rate * t) * g + sympy.exp(rate * t) * ((v - w) - rate * g)
    yield Claim("the slope of e^(bt) g", slope, equals=(v - w) * sympy.exp(rate * t))
    yield FalseStep(
        "without the penalty's pull",
        rate * sympy.exp(rate * t) * g + sympy.exp(rate * t) * (v - w),
        equals=(v - w) * sympy.exp(rate * t),
    )
    yield Claim("both start at 0", sympy.Subs(target, t, 0))
    s = (1 - sympy.exp(-rate * t)) / rate
    yield Claim("times e^(-bt)", sympy.exp(-rate * t) * target, equals=s)
    time = sympy.Symbol("time", positive=True)
    delayed = (1 - sympy.exp(-rate * time)) / rate
    yield "s is at most 1/b, and at most t: t - s is 0 at t = 0 and rises (L1.rising)."
    yield Claim("at most 1/b", 1 / rate - delayed, ">0")
    yield Claim("no time, no delay", sympy.Subs(time - delayed, time, 0))
    yield Claim("t - s rises", sympy.Derivative(time - delayed, time), equals=1 - sympy.exp(-rate * time))
    yield Claim("as its slope is positive", 1 - sympy.exp(-rate * time), ">0")


PENALISED = derived(
    "A3.penalised",
    "With a reverse KL penalty the natural gradient passes the tilted models of (1 - e^(-beta t))/beta",
    statement=r"\dot\theta_y = r_y - E_q r,\; r = v - \beta\log(q/a),\; q_0 = a \;\Rightarrow\;"
    r" q_t = p_{\beta'},\quad 1/\beta' = (1 - e^{-\beta t})/\beta \le \min(t, 1/\beta)",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5), beta=log_uniform(1e-2, 1)),
    equal=(penalised_flow, delayed),
    given=("L1.rising",),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="2", beta=".5"),),
    derivation=penalised_steps,
    certified=False,
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    false=(
        neighbour("no delay: beta' = 1/t", rhs=without_delay),
        neighbour("beta' = beta + 1/t, which has both limits", rhs=slowed_harmonically),
    ),
)


def slower_steps() -> Steps:
    yield (
        "KL(a || p) of the tilt a e^(vs)/Z is log Z - A1 s, which rises with s (L1.rising); and (1 - "
        "e^(-bt))/b is at most t: the difference is zero at t = 0 and rises."
    )
    s, t, b, A1, A0 = sympy.symbols("s t b A1 A0", positive=True)
    Z = A0 + A1 * sympy.exp(s)
    slope = A1 * (A0 + A1) * sympy.exp(s) / Z - A1
    yield Claim(
        "the slope of log Z, A0 + A1 = 1", sympy.Derivative(sympy.log(Z), s), equals=(slope + A1) / (A0 + A1)
    )
    yield Claim("less A1", slope, equals=A1 * A0 * (sympy.exp(s) - 1) / Z)
    yield Claim("is positive", sympy.exp(s) - 1, ">0")
    room = t - (1 - sympy.exp(-b * t)) / b
    yield Claim("no time, no delay", sympy.Subs(room, t, 0))
    yield Claim("the delay's slope", sympy.Derivative(room, t), equals=1 - sympy.exp(-b * t))
    yield Claim("is positive, too", 1 - sympy.exp(-b * t), ">0")
    yield FalseStep("the slope without b", 1 - sympy.exp(-t / b), equals=1 - sympy.exp(-b * t))


SLOWER = derived(
    "A3.slower",
    "At every time the policy has lost less of the base with the reverse KL penalty than without",
    statement=r"\mathrm{KL}(a\|q_t^{\beta}) \le \mathrm{KL}(a\|q_t^{0}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("ours", "natural gradient"),
    on=RUNS,
    at_most=(lost_with_penalty, lost_without),
    given=("A3.path", "A3.penalised", "L1.rising"),
    examples=(RUN,),
    derivation=slower_steps,
    tight=example(base=".2 .3 .3 .2", valid=[True, False, True, False], time=".1", beta=".01"),
    false=(
        neighbour(
            "two parts in a thousand slower at least",
            at=example(base=".2 .4 .2 .2", valid=[True, False, True, False], time=".08", beta=".01"),
            rhs=scaled(lost_without, 0.998),
        ),
        neighbour(
            "at most half as fast",
            at=example(base=".4 .2 .2 .2", valid=[True, False, True, False], time=".1", beta=".01"),
            rhs=scaled(lost_without, 0.5),
        ),
    ),
)
