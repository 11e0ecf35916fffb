"""A2. The implicit bias of the plain policy gradient.

Plain policy gradient of the expected reward on the logits of one decision does not converge to
the filtered model: it keeps two quantities fixed, so that one number gives the whole policy, and ends uniform
on the base's likeliest valid outcomes. Answers of several tokens share the logits of their prefixes, and need
not: a likeliest correct answer can lose all its mass to two that are less likely and stand behind one prefix.
There the flow has to be followed (`dynamics.flow`).

A3. The natural gradient converges to the filtered model.

The natural gradient of the expected reward passes the tilted models in order, beta = 1/t, keeps all ratios
among valid answers, and converges to the filtered model; with a reverse KL penalty it takes the same path,
later.
"""

import numpy as np

from ...binary_reward import filtered, tilted, valid_mass
from ...divergences import TOTAL_VARIATION
from ...finite_training.decision import (
    integrate,
    natural_gradient,
    orbit,
    plain_gradient,
    softmax,
    uniform_on_likeliest,
)
from ...finite_training.flow import flow
from ...numeric.elementary import Values, normalised, trailing
from ...references import Source
from ...stationary import answer_probabilities
from ...tokens import joint
from ...verification.charts import chart, example, integers, log_uniform, masks, simplex, uniform
from ...verification.statement import Relation, neighbour, scaled, theorem
from .._estimators import reward_gradient
from .._laws import FOUR, RUNS, lost_with_penalty, lost_without


def later(base: Values, valid: Values, time: Values) -> Values:
    theta = integrate(plain_gradient, base, valid, time)
    return _with_sum(_within_parts(np.exp(-theta), valid), theta)


def at_the_start(base: Values, valid: Values) -> Values:
    return _with_sum(_within_parts(1 / base, valid), np.log(base))


def across_parts_later(base: Values, valid: Values, time: Values) -> Values:
    theta = integrate(plain_gradient, base, valid, time)
    return _with_sum(_within_parts(np.exp(-theta), np.ones_like(valid)), theta)


def _within_parts(values: Values, valid: Values) -> Values:
    """Each value less that of its part's representative: the first outcome is valid, the last is not."""
    return values - np.where(valid, values[:, :1], values[:, -1:])


def _with_sum(values: Values, theta: Values) -> Values:
    return np.concatenate([values, theta.sum(axis=-1, keepdims=True)], axis=-1)


KEPT = example(base=".3 .2 .1 .4", valid=[True, True, True, False], time="10", weights="3 2 1 4")

CONSERVED = theorem(
    "A2.conserved",
    "Plain policy gradient conserves sum theta, and e^-theta_y - e^-theta_y' within Y1 and within Y0",
    statement=r"\dot\theta_y = q_y (v_y - V) \;\Rightarrow\; \tfrac{d}{dt}\sum_y \theta_y = 0, \quad"
    r" \tfrac{d}{dt}\big(e^{-\theta_y} - e^{-\theta_{y'}}\big) = 0 \text{ if } v_y = v_{y'}",
    source=Source("ours", "implicit bias"),
    on=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    equal=(later, at_the_start),
    examples=(KEPT,),
    # What the Runge-Kutta steps leave out; e^-theta starts above 1.
    tolerance=1e-6,
    floor=1.0,
    false=(
        neighbour(
            "differences of e^-theta between Y1 and Y0 too",
            lhs=across_parts_later,
            rhs=lambda base, valid: _with_sum(_within_parts(1 / base, np.ones_like(valid)), np.log(base)),
        ),
    ),
)


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


ORBIT = theorem(
    "A2.orbit",
    "The plain policy gradient moves on a curve: one number, its progress, gives the whole policy",
    statement=r"q_y \propto \frac{a_y}{1 - s_1 a_y} \;(y \in Y_1), \quad q_y \propto \frac{a_y}{1 + s_0 a_y}"
    r" \;(y \in Y_0), \quad \prod_{Y_0} (1 + s_0 a_y) \prod_{Y_1} (1 - s_1 a_y) = 1",
    source=Source("ours", "implicit bias"),
    on=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    equal=(followed, on_the_orbit),
    examples=(KEPT,),
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    share=0.2,
    false=(neighbour("the invalid logits stay (sum theta not conserved)", rhs=without_conserved_sum),),
)


def near_the_end(weights: Values, valid: Values, eps: Values) -> Values:
    return orbit(normalised(weights), valid, np.full(len(weights), eps))


def filtered_model(weights: Values, valid: Values) -> Values:
    return filtered(normalised(weights), valid)


def first_of_the_richest(weights: Values, valid: Values) -> Values:
    return np.eye(weights.shape[-1])[np.where(valid, weights, 0).argmax(axis=-1)]


TREE = chart(first=simplex(2), second=simplex(2, 2), valid=masks(4))
"""Answers of two tokens, whose logits are those of the first token and of the second after each first."""


def tree_after_training(first: Values, second: Values, valid: Values) -> Values:
    """The answers' probabilities at time 1,000, when V is one to a thousandth."""
    verdicts = valid.reshape(second.shape)
    after = [flow(list(tree), v, [1e3])[0] for *tree, v in zip(first, second, verdicts, strict=True)]
    return np.stack([answer_probabilities(tables).ravel() for tables in after])


def likeliest_answers(first: Values, second: Values, valid: Values) -> Values:
    return uniform_on_likeliest(joint([first, second]).reshape(valid.shape), valid)


LIMIT = theorem(
    "A2.limit",
    "One decision: the plain policy gradient of its logits ends uniform on argmax_{Y1} a",
    statement=r"\dot\theta_y = q_y (v_y - V),\; q(0) = a \;\Rightarrow\;"
    r" \lim_{t\to\infty} q_t = \mathrm{Unif}\big(\operatorname*{argmax}_{Y_1} a\big)",
    source=Source("ours", "implicit bias"),
    # Whole weights, so that there are ties but no near-ties, whose limits come arbitrarily late.
    on=chart(weights=integers(1, 9, 4), valid=masks(4)),
    tends=(near_the_end, lambda weights, valid: uniform_on_likeliest(weights, valid)),
    # In the last example a is constant on Y1: only then is the limit p_*.
    examples=(
        KEPT.giving(rhs="1 0 0 0"),
        example(weights="2 2 1 4", valid=[True, True, True, False], rhs=".5 .5 0 0"),
        example(weights="2 2 2 4", valid=[True, True, True, False]),
    ),
    # Masses are compared absolutely: at eps = 1e-8 a poorer outcome keeps up to about 8 eps.
    tolerance=1e-6,
    floor=1.0,
    false=(
        neighbour("the limit is the filtered model p_*", rhs=filtered_model),
        neighbour("ties are broken: one outcome gets all", rhs=first_of_the_richest),
        neighbour(
            "of answers of two tokens too",
            # .30 is the likeliest; it loses all to the two of .25 behind the other token.
            at=example(first=".5 .5", second=[".6 .4", ".5 .5"], valid=[True, False, True, True]),
            instances=TREE,
            relation=Relation.EQUAL,
            lhs=tree_after_training,
            rhs=likeliest_answers,
        ),
    ),
)


def starting_ratio(base: Values, valid: Values) -> Values:
    return _richer_over_poorer(base, np.log(base), valid)


def later_ratio(base: Values, valid: Values, time: Values) -> Values:
    return _richer_over_poorer(base, integrate(plain_gradient, base, valid, time), valid)


def _richer_over_poorer(base: Values, theta: Values, part: Values) -> Values:
    """The log of q_y/q_y' for every pair of the part with a_y > a_y' (zero for the other pairs)."""
    pairs = part[:, :, None] & part[:, None, :] & (base[:, :, None] > base[:, None, :])
    return np.where(pairs, theta[:, :, None] - theta[:, None, :], 0.0)


RICHER = theorem(
    "A2.richer",
    "One decision, plain policy gradient: a likelier valid outcome gains on every less likely one",
    statement=r"y, y' \in Y_1,\; a_y > a_{y'} \;\Rightarrow\;"
    r" \log \frac{a_y}{a_{y'}} \le \log \frac{q_t(y)}{q_t(y')}",
    source=Source("ours", "implicit bias"),
    on=chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10)),
    at_most=(starting_ratio, later_ratio),
    examples=(KEPT, example(base=".02 .86 .1 .02", valid=[True, True, True, False], time=".01")),
    false=(neighbour("the ratios stay", relation=Relation.EQUAL),),
)


def poorer_over_richer(weights: Values, valid: Values, eps: Values) -> Values:
    policy = orbit(normalised(weights), valid, np.full(len(weights), eps))
    return np.where(_pairs(weights, valid), policy[:, None, :] / policy[:, :, None], 0.0)


def limit_of_ratio(weights: Values, valid: Values) -> Values:
    """(1/a_y - 1/a_top)/(1/a_y' - 1/a_top) for y likelier than y': zero, a divergence, iff y is likeliest."""
    top = np.where(valid, weights, 0).max(axis=-1, keepdims=True)
    lack = 1 / weights - 1 / top
    pairs = _pairs(weights, valid)
    return np.where(pairs, lack[:, :, None], 0.0) / np.where(pairs, lack[:, None, :], 1.0)


def ratio_of_base(weights: Values, valid: Values) -> Values:
    return np.where(_pairs(weights, valid), weights[:, None, :] / weights[:, :, None], 0.0)


def _pairs(weights: Values, valid: Values) -> Values:
    return valid[:, :, None] & valid[:, None, :] & (weights[:, :, None] > weights[:, None, :])


RATIOS = theorem(
    "A2.ratios",
    "One decision, plain gradient: ratios to the likeliest valid outcome diverge, others grow to a limit",
    statement=r"y, y' \in Y_1,\; a_y > a_{y'} \;\Rightarrow\; \lim_{t\to\infty} \frac{q_t(y')}{q_t(y)}"
    r" = \frac{1/a_y - 1/a_{top}}{1/a_{y'} - 1/a_{top}}, \quad a_{top} = \max_{Y_1} a",
    source=Source("ours", "implicit bias"),
    on=chart(weights=integers(1, 9, 4), valid=masks(4)),
    tends=(poorer_over_richer, limit_of_ratio),
    examples=(KEPT,),
    # Ratios up to one are compared absolutely, at eps = 1e-8.
    tolerance=1e-6,
    floor=1.0,
    note="Ratios diverge if and only if one of the two outputs is a likeliest valid one; "
    "between two others the ratio grows, but to a finite limit.",
    false=(
        neighbour("every ratio diverges", rhs=scaled(limit_of_ratio, 0)),
        neighbour("the ratios stay", rhs=ratio_of_base),
    ),
)


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


def followed_a03(base: Values, valid: Values, time: Values) -> Values:
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
    equal=(followed_a03, tilted_model),
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


RATIOS_A03 = theorem(
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


LIMIT_A03 = theorem(
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
