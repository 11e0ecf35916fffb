"""The limits of the plain and of the natural policy gradient.

On the logits of one decision the plain gradient conserves two quantities, so that one number gives the whole
policy, and ends uniform on the base's likeliest correct answers, not on the filtered model. Answers of
several tokens share the logits of their prefixes and need not: there the flow has to be followed
(`finite_training.flow`). The natural gradient passes the tilted models in order, beta = 1/t, keeps all ratios
among correct answers and converges to the filtered model; with a reverse KL penalty it takes the same path,
later.
"""

import numpy as np

from ...binary_reward import filtered, pass_rate, tilted
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
from ...numeric.elementary import Values, add_axes, masked, normalised
from ...references import Source
from ...stationary import answer_probabilities
from ...tokens import joint
from ...verification.charts import chart, example, integers, log_uniform, masks, simplex, uniform
from ...verification.statement import Relation, neighbour, refuted, scaled, theorem
from .._policies import (
    FOUR_ANSWERS,
    TRAINING_RUN,
    TRAINING_RUNS,
    centred,
    expected_update,
    lost_with_penalty,
    lost_without_penalty,
)

PLAIN_RUNS = chart(base=simplex(4, spread=2), valid=masks(4), time=log_uniform(1e-2, 10))
"""A base, a verifier, and how long the plain gradient is followed."""
WHOLE_WEIGHTS = chart(weights=integers(1, 9, 4), valid=masks(4))
"""A base in whole weights, so that there are ties but no near-ties, whose limits come arbitrarily late."""
PLAIN_RUN = TRAINING_RUN.but(time="10", weights="3 2 1 4")


def conserved(theta: Values, part: Values) -> Values:
    """Conserved quantities (batch, outcomes + 1) of the logit flow: e^-theta differences; sum of theta.

    Differences are those to the first outcome, which is correct, or to the last, which is not.
    """
    weights = np.exp(-theta)
    differences = weights - np.where(part, weights[:, :1], weights[:, -1:])
    return np.concatenate([differences, theta.sum(axis=-1, keepdims=True)], axis=-1)


def conserved_later(base: Values, valid: Values, time: Values) -> Values:
    return conserved(integrate(plain_gradient, base, valid, time), valid)


def across_parts_later(base: Values, valid: Values, time: Values) -> Values:
    return conserved(integrate(plain_gradient, base, valid, time), np.ones_like(valid))


CONSERVED = theorem(
    "Plain policy gradient conserves sum theta, and e^-theta_y - e^-theta_y' within Y1 and within Y0",
    statement=r"\dot\theta_y = q_y (v_y - V) \;\Rightarrow\; \tfrac{d}{dt}\sum_y \theta_y = 0, \quad"
    r" \tfrac{d}{dt}\big(e^{-\theta_y} - e^{-\theta_{y'}}\big) = 0 \text{ if } v_y = v_{y'}",
    source=Source("ours", "implicit bias"),
    on=PLAIN_RUNS,
    equal=(conserved_later, lambda base, valid: conserved(np.log(base), valid)),
    examples=(PLAIN_RUN,),
    # What the Runge-Kutta steps leave out; e^-theta starts above 1.
    tolerance=1e-6,
    floor=1.0,
    false=(
        neighbour(
            "differences of e^-theta between Y1 and Y0 too",
            lhs=across_parts_later,
            rhs=lambda base, valid: conserved(np.log(base), np.ones_like(valid)),
        ),
    ),
)


def after_plain_gradient(base: Values, valid: Values, time: Values) -> Values:
    return softmax(integrate(plain_gradient, base, valid, time))


def near_the_end(weights: Values, valid: Values, eps: Values) -> Values:
    return orbit(normalised(weights), valid, np.full(len(weights), eps))


def filtered_model(weights: Values, valid: Values) -> Values:
    return filtered(normalised(weights), valid)


def first_of_the_richest(weights: Values, valid: Values) -> Values:
    return np.eye(weights.shape[-1])[np.where(valid, weights, 0).argmax(axis=-1)]


TREE = chart(first=simplex(2), second=simplex(2, 2), valid=masks(4))
"""Answers of two tokens, whose logits are those of the first token and of the second after each first."""


def tree_after_training(first: Values, second: Values, valid: Values) -> Values:
    """Answers' probabilities (batch, answers) after gradient flow for time 1,000, when 1 - V < .001."""
    verdicts = valid.reshape(second.shape)
    after = [flow(list(tree), v, [1e3])[0] for *tree, v in zip(first, second, verdicts, strict=True)]
    return np.stack([answer_probabilities(tables).ravel() for tables in after])


def likeliest_answers(first: Values, second: Values, valid: Values) -> Values:
    return uniform_on_likeliest(joint([first, second]).reshape(valid.shape), valid)


PLAIN_LIMIT = theorem(
    "One decision: the plain policy gradient of its logits ends uniform on argmax_{Y1} a",
    statement=r"\dot\theta_y = q_y (v_y - V),\; q(0) = a \;\Rightarrow\;"
    r" \lim_{t\to\infty} q_t = \mathrm{Unif}\big(\operatorname*{argmax}_{Y_1} a\big)",
    source=Source("ours", "implicit bias"),
    on=WHOLE_WEIGHTS,
    tends=(near_the_end, lambda weights, valid: uniform_on_likeliest(weights, valid)),
    # In the last example a is constant on Y1: only then is the limit p_*.
    examples=(
        PLAIN_RUN.giving(rhs="1 0 0 0"),
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


def unequal_pairs(base: Values, valid: Values) -> Values:
    """Mask (batch, outcomes, outcomes) of the pairs y, y' of correct outcomes with a_y > a_y'."""
    return np.asarray(valid[:, :, None] & valid[:, None, :] & (base[:, :, None] > base[:, None, :]))


def poorer_over_richer(weights: Values, valid: Values, eps: Values) -> Values:
    policy = near_the_end(weights, valid, eps)
    return masked(policy[:, None, :] / policy[:, :, None], unequal_pairs(weights, valid))


def limit_of_ratio(weights: Values, valid: Values) -> Values:
    """Limit of q_y'/q_y for pairs a_y > a_y', else 0: (1/a_y - 1/a_top)/(1/a_y' - 1/a_top)."""
    top = np.where(valid, weights, 0).max(axis=-1, keepdims=True)
    lack = 1 / weights - 1 / top
    pairs = unequal_pairs(weights, valid)
    return masked(lack[:, :, None], pairs) / np.where(pairs, lack[:, None, :], 1.0)


def ratio_of_base(weights: Values, valid: Values) -> Values:
    return masked(weights[:, None, :] / weights[:, :, None], unequal_pairs(weights, valid))


PLAIN_RATIOS = theorem(
    "One decision, plain gradient: ratios to the likeliest valid outcome diverge, others grow to a limit",
    statement=r"y, y' \in Y_1,\; a_y > a_{y'} \;\Rightarrow\; \lim_{t\to\infty} \frac{q_t(y')}{q_t(y)}"
    r" = \frac{1/a_y - 1/a_{top}}{1/a_{y'} - 1/a_{top}}, \quad a_{top} = \max_{Y_1} a",
    source=Source("ours", "implicit bias"),
    on=WHOLE_WEIGHTS,
    tends=(poorer_over_richer, limit_of_ratio),
    examples=(PLAIN_RUN,),
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
    """Fisher information of the logits times v - V: E_q[score (score . (v - V))], (batch, outcomes)."""
    return _fisher_times(policy, valid - add_axes(pass_rate(policy, valid), 1))


def _fisher_times(policy: Values, direction: Values) -> Values:
    outcomes = policy.shape[-1]
    # Row y is the score of outcome y in logits, its indicator less q.
    score = np.eye(outcomes) - policy[:, None, :]
    along = (score * direction[:, None, :]).sum(axis=-1)
    return (add_axes(policy * along, 1) * score).sum(axis=-2)


FIELD = theorem(
    "v - V is the natural gradient of E_q v: the Fisher matrix maps it to the plain gradient",
    statement=r"F\,(v - V) = \nabla_\theta\, \mathbb{E}_q v, \quad F = \mathrm{diag}(q) - q q^\top",
    source=Source("ours", "natural gradient"),
    on=chart(policy=simplex(4, zeros=True), valid=masks(4)),
    equal=(fisher_times_field, lambda policy, valid: expected_update(policy, valid)),
    examples=(FOUR_ANSWERS.giving(value=".135 .1125 -.1375 -.11"),),
    coq="natural_field",
    false=(
        neighbour(
            "the plain gradient is its own natural gradient",
            at=example(policy=".01 .03 .93 .03", valid=[True, True, False, False]),
            lhs=lambda policy, valid: _fisher_times(policy, expected_update(policy, valid)),
        ),
    ),
)


def after_natural_gradient(base: Values, valid: Values, time: Values) -> Values:
    # From theta = log a the flow keeps sum e^theta at 1, since its velocity is sum q (v - V) = 0: e^theta is
    # the policy itself. (A softmax would hide errors common to all logits.)
    return np.exp(integrate(natural_gradient, base, valid, time))


def tilted_at(base: Values, valid: Values, time: Values) -> Values:
    return tilted(base, valid, 1 / time)


PATH = theorem(
    "Natural gradient: the policy at time t is the tilted model at beta = 1/t",
    statement=r"\dot\theta_y = v_y - V,\; q_0 = a \;\Rightarrow\; q_t = p_{\beta = 1/t}",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5)),
    equal=(after_natural_gradient, tilted_at),
    examples=(FOUR_ANSWERS.giving(value=".4267407565366 .284493837691 .1732592434634 .115506162309"),),
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    coq="natural_path",
    false=(neighbour("the plain gradient has the same orbit", lhs=after_plain_gradient),),
)


def inside_valid(base: Values, valid: Values, time: Values) -> Values:
    return filtered(tilted_at(base, valid, time), valid)


NATURAL_RATIOS = theorem(
    "At every time natural gradient's policy, given Y1, is the base given Y1: q_t(.|Y1) = p_*",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; q_t(\cdot \mid Y_1) = p_* \text{ for every } t",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=log_uniform(1e-3, 1e3)),
    equal=(inside_valid, filtered),
    examples=(FOUR_ANSWERS.giving(value=".6 .4 0 0"),),
    coq="shares_stay",
    false=(neighbour("the whole policy stays", lhs=tilted_at),),
)


def distance_to_filtered(base: Values, valid: Values, time: Values) -> Values:
    return TOTAL_VARIATION(tilted_at(base, valid, time), filtered(base, valid))


def distance_to_uniform(base: Values, valid: Values, time: Values) -> Values:
    even = filtered(np.full_like(base, 1 / base.shape[-1]), valid)
    return TOTAL_VARIATION(tilted_at(base, valid, time), even)


def exponential(base: Values, valid: Values, time: Values) -> Values:
    return pass_rate(base, ~valid) / pass_rate(base, valid) * np.exp(-time)


NATURAL_LIMIT = theorem(
    "Natural gradient at time t > 0: TV(q_t, p_*) <= (A0/A1) e^-t",
    statement=r"q_t = p_{1/t} \;\Rightarrow\; \mathrm{TV}(q_t, p_*) \le \frac{A_0}{A_1}\, e^{-t}",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(5), valid=masks(5), time=uniform(1e-3, 50)),
    at_most=(distance_to_filtered, exponential),
    examples=(FOUR_ANSWERS.giving(lhs=".2887654057724", rhs=".4060058497098"),),
    coq="natural_limit",
    false=(neighbour("the limit is uniform on Y1", at=FOUR_ANSWERS.but(time="9"), lhs=distance_to_uniform),),
)


def penalised_flow(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    """Policy (batch, outcomes) at `time` of d theta_y/dt = r_y - E_q r in logits, r = v - beta log(q/a)."""

    def field(theta: Values, valid: Values) -> Values:
        policy = softmax(theta)
        return centred(policy, valid - add_axes(beta, 1) * np.log(policy / base))

    return softmax(integrate(field, base, valid, time))


def delayed(base: Values, valid: Values, time: Values, beta: Values) -> Values:
    return tilted(base, valid, beta / -np.expm1(-beta * time))


PENALISED = theorem(
    "With a reverse KL penalty the natural gradient passes the tilted models of (1 - e^(-beta t))/beta",
    statement=r"\dot\theta_y = r_y - E_q r,\; r = v - \beta\log(q/a),\; q_0 = a \;\Rightarrow\;"
    r" q_t = p_{\beta'},\quad 1/\beta' = (1 - e^{-\beta t})/\beta",
    source=Source("ours", "natural gradient"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), time=log_uniform(1e-2, 5), beta=log_uniform(1e-2, 1)),
    equal=(penalised_flow, delayed),
    examples=(FOUR_ANSWERS.giving(value=".3247876837176 .2165251224784 .2752123162824 .1834748775216"),),
    # What the Runge-Kutta steps leave out.
    tolerance=1e-5,
    coq="penalised_path",
    false=(
        neighbour("no delay: beta' = 1/t", rhs=tilted_at),
        neighbour(
            "beta' = beta + 1/t, which has both limits",
            rhs=lambda base, valid, time, beta: tilted(base, valid, 1 / time + beta),
        ),
    ),
)


SLOWER = theorem(
    "At every time the policy has lost less of the base with the reverse KL penalty than without",
    statement=r"\mathrm{KL}(a\|q_t^{\beta}) \le \mathrm{KL}(a\|q_t^{0}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("ours", "natural gradient"),
    on=TRAINING_RUNS,
    at_most=(lost_with_penalty, lost_without_penalty),
    examples=(FOUR_ANSWERS.giving(lhs=".1756444443592", rhs=".4544585927932"),),
    coq="penalty_keeps_more",
    false=(
        neighbour(
            "at most half as fast",
            at=example(base=".4 .2 .2 .2", valid=[True, False, True, False], time=".1", beta=".01"),
            rhs=scaled(lost_without_penalty, 0.5),
        ),
    ),
)


DECAY = refuted(
    "'Reverse KL actively accelerates the decay': refuted for unrestricted policies",
    statement=r"\mathrm{KL}(a\|q_t^{0}) \le \mathrm{KL}(a\|q_t^{\beta}),\quad"
    r" q_t^\beta \text{ from } a \text{ by the natural gradient of } E_q v - \beta\,\mathrm{KL}(q\|a)",
    source=Source("li2025choice", "the motivation of mass-covering divergences", figure="kl_both_ways"),
    on=TRAINING_RUNS,
    at_most=(lost_without_penalty, lost_with_penalty),
    examples=(TRAINING_RUN.giving(lhs=".3755571176516", rhs=".1673965370199"),),
    note="The opposite holds at every time (implicit_bias.slower): the penalty delays the same path, and"
    " p_beta ends it (implicit_bias.penalised). It does hold in a family that cannot follow the base: where"
    " tokens cannot see each other, reverse KL itself drives the policy to one of two modes"
    " (misspecification.accelerates). What else the words can mean: on policy, recovery is slow"
    " (convergence_time.onpolicy).",
    false=(neighbour("or slows it by no more than a tenth", rhs=scaled(lost_with_penalty, 1.1)),),
)
