"""J3. Truncated rollouts.

What top-p, top-k or min-p leave out is never drawn, and its logit does not move. So training without a KL
ends where all that is drawn is correct: at full sampling a pass rate of about the share kept, not 1.
"""

from ..numeric.elementary import Values, normalised, only, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.theorem import neighbour, theorem


def _outside(policy: Values, kept: Values, advantage: Values, *, centred: bool = True) -> Values:
    """The update of the logits that the sampler leaves out."""
    drawn = normalised(only(policy, kept))
    pulls = drawn * (advantage - trailing((drawn * advantage).sum(axis=-1), 1) * centred)
    return only(pulls - policy * trailing(pulls.sum(axis=-1), 1), ~kept)


OUTSIDE = theorem(
    "J3.outside",
    "An answer that a truncated sampler leaves out stays where it is",
    statement=r"q_y = 0 \;\Rightarrow\; q_y (c_y - E_q c) - \pi_y \sum_z q_z (c_z - E_q c) = 0",
    source=Source("ours", "what the sampler selects"),
    on=chart(policy=simplex(4, spread=4), kept=masks(4), advantage=uniform(-2, 2, 4)),
    equal=(lambda policy, kept, advantage: _outside(policy, kept, advantage), lambda policy: 0 * policy),
    examples=(
        example(policy=".48 .24 .08 .2", kept=[True, True, True, False], advantage="1 1 -1 0", value="0"),
    ),
    coq="outside_stays",
    floor=1.0,
    note="Under top-p of .95, .9 and .7 six answers converge to pass rates of .9500, .9228 and .760 at full"
    " sampling, 1 as sampled. With the KL in the reward (beta = .3, full sampling .94921): .9268, .9000,"
    " .7504; p_beta stays where its nucleus leaves nothing of it out. For sequences the share is per token.",
    false=(
        neighbour(
            "no baseline",
            lhs=lambda policy, kept, advantage: _outside(policy, kept, advantage, centred=False),
        ),
    ),
)
