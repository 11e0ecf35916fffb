"""G7. Several updates on a batch.

With infinite batches the stationary policy of one update is a fixed point of several, whatever is clipped:
where the first of them has nothing to do, neither have the others. What the number changes is noise, time and
stability.
"""

import numpy as np

from ..binary_reward import tilted, valid_mass
from ..numeric.elementary import Values, normalised, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def after_updates(
    base: Values, valid: Values, beta: Values, step: Values, low: Values, high: Values, start: Values
) -> Values:
    """Four steps up the clipped surrogate of one infinite batch drawn at `start`, k2 in the loss."""
    law, old = start, start
    for _ in range(4):
        advantage = valid - trailing(valid_mass(old, valid), 1) - trailing(beta, 1) * np.log(old / base)
        ratio = law / old
        stopped = np.where(advantage > 0, ratio > 1 + trailing(high, 1), ratio < 1 - trailing(low, 1))
        pull = np.where(stopped, 0.0, law * advantage)
        pull = pull - law * trailing(pull.sum(axis=-1), 1)
        law = normalised(law * np.exp(trailing(step, 1) * pull))
    return law


def at_the_law(base: Values, valid: Values, beta: Values, step: Values, low: Values, high: Values) -> Values:
    law = tilted(base, valid, beta)
    return after_updates(base, valid, beta, step, low, high, law)


def at_the_base(base: Values, valid: Values, beta: Values, step: Values, low: Values, high: Values) -> Values:
    return after_updates(base, valid, beta, step, low, high, base)


FIXED = theorem(
    "G7.fixed",
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
    equal=(at_the_law, lambda base, valid, beta: tilted(base, valid, beta)),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta=".5",
            step="2",
            low=".2",
            high=".2",
            value=".4267407565366 .284493837691 .1732592434634 .115506162309",
        ),
    ),
    note="Stable below a step size: with four updates, clips of .2 and this base, eta = 2 converges and eta"
    " = 8 does not.",
    coq="clipping_leaves_the_law",
    false=(neighbour("from the base", lhs=at_the_base),),
)
