"""A3. The natural gradient converges to the filtered model.

The natural gradient of the expected reward passes the tilted models in order, beta = 1/t, keeps all ratios
among valid answers, and converges to the filtered model; with a reverse KL penalty it takes the same path,
later.
"""

import numpy as np

from ..binary_reward import filtered, tilted, valid_mass
from ..divergences import TOTAL_VARIATION
from ..dynamics.decision import integrate, natural_gradient, plain_gradient, softmax
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, scaled, theorem
from ._estimators import reward_gradient
from ._laws import FOUR, RUNS, lost_with_penalty, lost_without


def fisher_times_field(policy: Values, valid: Values) -> Values:
    """E_q[score (score . (v - V))], the Fisher information applied to v - V."""
    return _fisher_times(policy, valid - trailing(valid_mass(policy, valid), 1))


def _fisher_times(policy: Values, direction: Values) -> Values:
    outcomes = policy.shape[-1]
    # Row y is the score of outcome y in logits, its indicator less q.
    score = np.eye(outcomes) - policy[:, None, :]
    along = (score * direction[:, None, :]).sum(axis=-1)
    return (trailing(policy * along, 1) * score).sum(axis=-2)


def fisher_image(policy: Values, valid: Values) -> Values:
    return reward_gradient(policy, valid)


FIELD = theorem(
    "A3.field",
    "v - V is the natural gradient of E_q v: the Fisher matrix maps it to the plain gradient",
    statement=r"F\,(v - V) = \nabla_\theta\, \mathbb{E}_q v, \quad F = \mathrm{diag}(q) - q q^\top",
    source=Source("ours", "natural gradient"),
    on=chart(policy=simplex(4, zeros=True), valid=masks(4)),
    equal=(fisher_times_field, fisher_image),
    examples=(
        example(policy=".3 .25 .25 .2", valid=[True, True, False, False], value=".135 .1125 -.1375 -.11"),
    ),
    coq="natural_field",
    false=(
        neighbour(
            "the plain gradient is its own natural gradient",
            at=example(policy=".01 .03 .93 .03", valid=[True, True, False, False]),
            lhs=lambda policy, valid: _fisher_times(policy, reward_gradient(policy, valid)),
        ),
    ),
)


def followed(base: Values, valid: Values, time: Values) -> Values:
    # From theta = log a the flow keeps sum e^theta at 1, since its velocity is sum q (v - V) = 0: e^theta is
    # the policy itself. (A softmax would hide errors common to all logits.)
    return np.exp(integrate(natural_gradient, base, valid, time))


def tilted_model(base: Values, valid: Values, time: Values) -> Values:
    return tilted(base, valid, 1 / time)


PATH = theorem(
    "A3.path",
    "Natural gradient: the policy at time t is the tilted model at beta = 1/t",
    statement=r"\dot\theta_y = v_y - V,\; q_0 = a \;\Rightarrow\; q_t = p_{\beta = 1/t}",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5)),
    equal=(followed, tilted_model),
    examples=(FOUR.giving(value=".4267407565366 .284493837691 .1732592434634 .115506162309"),),
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    coq="natural_path",
    false=(
        neighbour(
            "the plain gradient has the same orbit",
            lhs=lambda base, valid, time: softmax(integrate(plain_gradient, base, valid, time)),
        ),
    ),
)


def inside_valid(base: Values, valid: Values, time: Values) -> Values:
    return filtered(tilted(base, valid, 1 / time), valid)


RATIOS = theorem(
    "A3.ratios",
    "Natural gradient keeps the ratios inside Y1: q_t(.|Y1) = p_*",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; q_t(\cdot \mid Y_1) = p_* \text{ for every } t",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=log_uniform(1e-3, 1e3)),
    equal=(inside_valid, filtered),
    examples=(FOUR.giving(value=".6 .4 0 0"),),
    coq="shares_stay",
    false=(neighbour("the whole policy stays", lhs=lambda base, valid, time: tilted(base, valid, 1 / time)),),
)


def distance_to_filtered(base: Values, valid: Values, time: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), filtered(base, valid))


def distance_to_uniform(base: Values, valid: Values, time: Values) -> Values:
    even = filtered(0 * base + np.asarray(1 + 0 * base[:, :1]) / base.shape[-1], valid)
    return TOTAL_VARIATION(tilted(base, valid, 1 / time), even)


def exponential(base: Values, valid: Values, time: Values) -> Values:
    return valid_mass(base, ~valid) / valid_mass(base, valid) * np.exp(-time)


LIMIT = theorem(
    "A3.limit",
    "Natural gradient converges to the filtered model: TV(q_t, p_*) <= (A0/A1) e^-t",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; \mathrm{TV}(q_t, p_*) \le \frac{A_0}{A_1}\, e^{-t} \to 0",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=uniform(1e-3, 50)),
    at_most=(distance_to_filtered, exponential),
    examples=(FOUR.giving(lhs=".2887654057724", rhs=".4060058497098"),),
    coq="natural_limit",
    false=(neighbour("the limit is uniform on Y1", at=FOUR.but(time="9"), lhs=distance_to_uniform),),
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


PENALISED = theorem(
    "A3.penalised",
    "With a reverse KL penalty the natural gradient passes the tilted models of (1 - e^(-beta t))/beta",
    statement=r"\dot\theta_y = r_y - E_q r,\; r = v - \beta\log(q/a),\; q_0 = a \;\Rightarrow\;"
    r" q_t = p_{\beta'},\quad 1/\beta' = (1 - e^{-\beta t})/\beta \le \min(t, 1/\beta)",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5), beta=log_uniform(1e-2, 1)),
    equal=(penalised_flow, delayed),
    examples=(FOUR.giving(value=".3247876837176 .2165251224784 .2752123162824 .1834748775216"),),
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    coq="penalised_path",
    false=(
        neighbour("no delay: beta' = 1/t", rhs=lambda base, valid, time: tilted(base, valid, 1 / time)),
        neighbour(
            "beta' = beta + 1/t, which has both limits",
            rhs=lambda base, valid, time, beta: tilted(base, valid, 1 / time + beta),
        ),
    ),
)


SLOWER = theorem(
    "A3.slower",
    "At every time the policy has lost less of the base with the reverse KL penalty than without",
    statement=r"\mathrm{KL}(a\|q_t^{\beta}) \le \mathrm{KL}(a\|q_t^{0}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("ours", "natural gradient"),
    on=RUNS,
    at_most=(lost_with_penalty, lost_without),
    examples=(FOUR.giving(lhs=".1756444443592", rhs=".4544585927932"),),
    coq="penalty_keeps_more",
    false=(
        neighbour(
            "at most half as fast",
            at=example(base=".4 .2 .2 .2", valid=[True, False, True, False], time=".1", beta=".01"),
            rhs=scaled(lost_without, 0.5),
        ),
    ),
)
