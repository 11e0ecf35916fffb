"""J2. The KL in the reward does not see the sampler.

Its coefficient, less any average of itself, vanishes at p_beta for every answer, whoever drew it. That of a
penalty in the loss is not centred, and sees it.
"""

import numpy as np

from ..binary_reward import tilted
from ..numeric.elementary import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.theorem import neighbour, theorem


def _update(base: Values, valid: Values, beta: Values, sampler: Values, *, in_reward: bool) -> Values:
    """In logits, at p_beta, of answers drawn from the sampler."""
    law = tilted(base, valid, beta)
    penalised = valid - trailing(beta, 1) * np.log(law / base)
    of = penalised if in_reward else valid + 0 * base
    pulls = sampler * (penalised - trailing((sampler * of).sum(axis=-1), 1))
    return pulls - law * trailing(pulls.sum(axis=-1), 1)


REWARD = theorem(
    "J2.reward",
    "With the KL of the whole answer in the reward p_beta is stationary whatever the answers are drawn from",
    statement=r"\sum_y q_y\,(r_y - E_q r)\,\nabla\log p_\beta(y) = 0,"
    r" \quad r = v - \beta\log(p_\beta/a), \quad q \text{ any distribution}",
    source=Source("ours", "what the sampler selects"),
    on=chart(
        base=simplex(4, spread=4), valid=masks(4), beta=log_uniform(0.05, 20), sampler=simplex(4, spread=4)
    ),
    equal=(
        lambda base, valid, beta, sampler: _update(base, valid, beta, sampler, in_reward=True),
        lambda base: 0 * base,
    ),
    examples=(
        example(
            base=".15 .1 .45 .3",
            valid=[True, True, False, False],
            beta=".5",
            sampler=".1 .2 .3 .4",
            value="0",
        ),
    ),
    coq="any_sampler",
    floor=1.0,
    note="A mismatch of rollout engine and trainer, corrected or not, does not change that. A run converges"
    " to it if q leaves no answer out ((.4, 0, .1, .3, .1, .1) converges to V = .9326 for .9492), and a KL"
    " to go is another. With k2 in the loss, samples at T = .6 and 1.5 converge to V = .84554 and .96417"
    " where full sampling has .94921 (six answers, beta = .3). There the whole answer's importance weight"
    " restores it, on reward and penalty alike; on the reward alone, or cut off where it acts, it does not;"
    " that of each token leaves the sampler's chances after the token.",
    false=(
        neighbour(
            "k2 in the loss, the rewards' mean subtracted",
            lhs=lambda base, valid, beta, sampler: _update(base, valid, beta, sampler, in_reward=False),
        ),
    ),
)
