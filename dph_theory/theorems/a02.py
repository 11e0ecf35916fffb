"""A2. The implicit bias of the plain policy gradient.

Plain policy gradient of the expected reward on the logits of one decision does not converge to
the filtered model: it keeps two quantities fixed, so that one number gives the whole policy, and ends uniform
on the base's likeliest valid outcomes. Answers of several tokens share the logits of their prefixes, and need
not: a likeliest correct answer can lose all its mass to two that are less likely and stand behind one prefix.
There the flow has to be followed (`dynamics.flow`).
"""

import numpy as np

from ..binary_reward import filtered
from ..dynamics.decision import integrate, orbit, plain_gradient, softmax, uniform_on_likeliest
from ..dynamics.flow import flow
from ..laws import answer_probabilities
from ..numeric.elementary import Values, normalised
from ..references import Source
from ..statement.charts import chart, example, integers, log_uniform, masks, simplex
from ..statement.theorem import Relation, neighbour, scaled, theorem
from ..tokens import joint


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
