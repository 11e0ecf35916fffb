"""Changes of the loss that move the stationary policy, and changes that only move the way to it.

With infinite batches the stationary policy of one update is a fixed point of several, whatever is clipped. A
loss that averages over each answer's tokens weighs an answer by 1/length: that changes nothing where the
penalty is in the reward, and the stationary policy where it is in the loss. A beta that falls slowly is
followed.
"""

import numpy as np

from ...binary_reward import tilted
from ...numeric.elementary import Values, add_axes, masked, normalised
from ...references import Source
from ...verification.charts import chart, example, log_uniform, masks, rates, simplex, uniform
from ...verification.statement import neighbour, theorem
from .._policies import FOUR_ANSWERS, centred, expected_update


def penalised_advantage(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    """Advantage v - V - beta log(pi/base), (batch, answers): KL in the loss, mean reward as the baseline."""
    return centred(policy, valid) - add_axes(beta, 1) * np.log(policy / base)


def after_updates(old: Values, advantage: Values, step: Values, low: Values, high: Values) -> Values:
    """Policy (batch, answers) after four steps up the clipped surrogate of one infinite batch from `old`."""
    policy = old
    for _ in range(4):
        ratio = policy / old
        stopped = np.where(advantage > 0, ratio > 1 + add_axes(high, 1), ratio < 1 - add_axes(low, 1))
        update = expected_update(policy, masked(advantage, ~stopped))
        policy = normalised(policy * np.exp(add_axes(step, 1) * update))
    return policy


def updated_from_tilted(
    base: Values, valid: Values, beta: Values, step: Values, low: Values, high: Values
) -> Values:
    policy = tilted(base, valid, beta)
    return after_updates(policy, penalised_advantage(policy, base, valid, beta), step, low, high)


def updated_from_base(
    base: Values, valid: Values, beta: Values, step: Values, low: Values, high: Values
) -> Values:
    return after_updates(base, penalised_advantage(base, base, valid, beta), step, low, high)


FIXED = theorem(
    "The stationary policy of one update a batch is a fixed point of several, with any clipping",
    statement=r"\theta_{k+1} = \theta_k + \eta\,\nabla E_{\rho}\,\mathrm{clip}(\pi_k/\rho)\,c = \theta_k"
    r" \quad\text{at } \rho = \pi_0 = p_\beta",
    source=Source("ours", "finite training"),
    on=chart(
        base=simplex(4, spread=3),
        valid=masks(4),
        beta=log_uniform(0.1, 5),
        step=log_uniform(0.1, 10),
        low=uniform(0.05, 0.5),
        high=uniform(0.05, 0.5),
    ),
    equal=(updated_from_tilted, tilted),
    examples=(
        FOUR_ANSWERS.but(step="2", low=".2", high=".2").giving(
            value=".4267407565366 .284493837691 .1732592434634 .115506162309"
        ),
    ),
    note="Stable below a step size: with four updates, clips of .2 and this base, eta = 2 converges and eta"
    " = 8 does not.",
    coq="clipping_leaves_the_law",
    false=(neighbour("from the base", lhs=updated_from_base),),
)


def penalised_reward(policy: Values, base: Values, valid: Values, beta: Values) -> Values:
    return valid - add_axes(beta, 1) * np.log(policy / base)


def update_with_penalised_reward(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    """Expected logit update (batch, answers) at p_beta with answers weighed by `weight`, KL in the reward."""
    policy = tilted(base, valid, beta)
    return expected_update(policy, weight * centred(policy, penalised_reward(policy, base, valid, beta)))


def update_with_penalised_loss(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    policy = tilted(base, valid, beta)
    return expected_update(policy, weight * penalised_advantage(policy, base, valid, beta))


def update_without_baseline(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    policy = tilted(base, valid, beta)
    return expected_update(policy, weight * penalised_reward(policy, base, valid, beta))


REWARD = theorem(
    "With the KL in the reward and its mean as baseline, p_beta is stationary whatever answers weigh",
    statement=r"\sum_y p_\beta(y)\, w_y\, (r_y - E_{p_\beta} r)\,\nabla\log\pi(y) = 0,"
    r" \quad r = v - \beta\log(p_\beta/a), \quad w > 0",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), weight=rates(4)),
    equal=(update_with_penalised_reward, lambda base: 0 * base),
    examples=(
        example(
            base=".3 .2 .2 .3", valid=[True, True, False, False], beta=".5", weight="1 .5 .5 .25", value="0"
        ),
    ),
    coq="weights_move_nothing",
    floor=1.0,
    false=(
        neighbour("the penalty in the loss, answers weighed alike", lhs=update_with_penalised_loss),
        neighbour("no baseline", lhs=update_without_baseline),
    ),
)


def motion(base: Values, valid: Values, beta: Values, eps: float) -> Values:
    """Derivative of log p_beta as log beta falls, (batch, answers), by a difference of relative width eps."""
    before, after = (tilted(base, valid, beta * factor) for factor in (1 + eps / 2, 1 - eps / 2))
    return np.log(after / before) / eps


def motion_by_verdict(base: Values, valid: Values, beta: Values) -> Values:
    return centred(tilted(base, valid, beta), valid) / add_axes(beta, 1)


def motion_by_surprise(base: Values, valid: Values, beta: Values) -> Values:
    """False variant of `motion`, (batch, answers): each answer's own -log p_beta is added."""
    return motion_by_verdict(base, valid, beta) - np.log(tilted(base, valid, beta))


MOTION = theorem(
    "As beta falls the stationary policy changes by the reward alone: no correct answer against another",
    statement=r"-\beta\,\frac{d \log p_\beta(y)}{d\beta} = \frac{v(y) - V_\beta}{\beta}",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=3), valid=masks(4), beta=log_uniform(0.1, 5)),
    tends=(motion, motion_by_verdict),
    examples=(FOUR_ANSWERS.giving(value=".5775308115448 .5775308115448 -1.4224691884552 -1.4224691884552"),),
    tolerance=1e-5,
    ladder=(1e-2, 1e-3, 1e-4),
    note="From beta = 1 to .05 in a time of 400 the flow's KL to p_* among correct answers peaks at .0059"
    " where beta falls geometrically, at .2305 where it is .05 throughout.",
    coq="motion",
    false=(neighbour("by the answer's own mass too", rhs=motion_by_surprise),),
)
