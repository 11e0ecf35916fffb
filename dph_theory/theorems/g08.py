"""G8. Per-answer means.

A loss that averages over each answer's tokens weighs an answer by 1/length. That changes nothing where the
penalty is in the reward, and the stationary policy where it is in the loss.
"""

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, rates, simplex
from ..statement.theorem import neighbour, theorem


def _update(law: Values, weight: Values, coefficient: Values) -> Values:
    """The expected update in logits, of answers weighed so."""
    pulls = law * weight * coefficient
    return pulls - law * trailing(pulls.sum(axis=-1), 1)


def with_the_penalty_in_the_reward(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    law = tilted(base, valid, beta)
    reward = valid - trailing(beta, 1) * np.log(law / base)
    return _update(law, weight, reward - trailing((law * reward).sum(axis=-1), 1))


def with_the_penalty_in_the_loss(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    law = tilted(base, valid, beta)
    centred = valid - trailing(valid_mass(law, valid), 1)
    return _update(law, weight, centred - trailing(beta, 1) * np.log(law / base))


def without_the_baseline(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    law = tilted(base, valid, beta)
    return _update(law, weight, valid - trailing(beta, 1) * np.log(law / base))


def none(base: Values, valid: Values, beta: Values, weight: Values) -> Values:
    return 0 * base * weight


REWARD = theorem(
    "G8.reward",
    "With the KL in the reward and its mean as baseline, p_beta stays stationary whatever answers weigh",
    statement=r"\sum_y p_\beta(y)\, w_y\, (r_y - E_{p_\beta} r)\,\nabla\log\pi(y) = 0,"
    r" \quad r = v - \beta\log(p_\beta/a), \quad w > 0",
    source=Source("ours", "finite training"),
    on=chart(base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), weight=rates(4)),
    equal=(with_the_penalty_in_the_reward, none),
    examples=(
        example(
            base=".3 .2 .2 .3", valid=[True, True, False, False], beta=".5", weight="1 .5 .5 .25", value="0"
        ),
    ),
    coq="weights_move_nothing",
    floor=1.0,
    false=(
        neighbour("the penalty in the loss, answers weighed alike", lhs=with_the_penalty_in_the_loss),
        neighbour("no baseline", lhs=without_the_baseline),
    ),
)
