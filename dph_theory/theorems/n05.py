"""N5. What a rehearsal, or a prompt that is pinned, does for others.

It acts on another prompt by the kernel alone: it helps where the two are coupled, does nothing where they
are not, and harms where what it does to the trained prompts outweighs that.
"""

import numpy as np

from ..references import Source
from ..statement.charts import chart, example, rates, uniform
from ..statement.theorem import neighbour, theorem
from ._transfer import Values

SOURCE = Source("ours", "transfer between prompts")


def coupling(pairs: Values) -> Values:
    """The kernel of T, S and j: of length one each, (T,S), (T,j), (S,j)."""
    found = np.broadcast_to(np.eye(3), (*pairs.shape[:-1], 3, 3)).copy()
    found[..., [0, 0, 1], [1, 2, 2]] = found[..., [1, 2, 2], [0, 0, 1]] = pairs
    return found


def held_still(rates: Values, pairs: Values) -> Values:
    """What j gains at that strength from T's training and from the rehearsal, -log u, of S: nothing."""
    kernel = coupling(pairs)
    drive, force = rates[..., 0] * (1 - rates[..., 0]), 1 - rates[..., 1]
    return kernel[..., 2, 0] * drive + price(rates, pairs) * kernel[..., 2, 1] * force


def price(rates: Values, pairs: Values) -> Values:
    """eta = -K_jT f_T/(K_jS (1 - V_S))."""
    return -pairs[..., 1] * rates[..., 0] * (1 - rates[..., 0]) / (pairs[..., 2] * (1 - rates[..., 1]))


PRICE = theorem(
    "N5.price",
    "A rehearsal of S holds j at the start from a strength on that is dear where S is solved",
    statement=r"\eta = -\frac{K_{jT} f_T}{K_{jS}\,(1 - V_S)} \;\Rightarrow\; \dot z_j = 0",
    source=SOURCE,
    on=chart(rates=rates(2, low=1e-2, high=1e-2), pairs=uniform(0.05, 1, 3)),
    equal=(held_still, lambda rates: 0 * rates[..., 0]),
    examples=(example(rates=".4 .97", pairs="-.5 -.4 .6"),),
    floor=1e-6,
    note="With V = (.4, .97) and couplings -.4, .6 the strength is 5.3: of a prompt that is solved the"
    " rehearsal has little force left to lend.",
    false=(
        neighbour(
            "whatever V_S",
            lhs=lambda rates, pairs: (
                held_still(rates, pairs) * 0
                + pairs[..., 1] * rates[..., 0] * (1 - rates[..., 0]) * rates[..., 1]
            ),
        ),
    ),
)


def across(features: Values) -> Values:
    """What j gains from T in the directions in which S does not move."""
    t, s, j = (features[..., i, :] for i in range(3))
    left = t - (t * s).sum(axis=-1, keepdims=True) / (s * s).sum(axis=-1, keepdims=True) * s
    return (j * left).sum(axis=-1)


def pinned(features: Values) -> Values:
    """K_jT - K_jS K_SS^-1 K_ST."""
    kernel = features @ np.swapaxes(features, -1, -2)
    return kernel[..., 2, 0] - kernel[..., 2, 1] * kernel[..., 1, 0] / kernel[..., 1, 1]


PINNED = theorem(
    "N5.pinned",
    "Where a strong forward KL pins S, the others are coupled by what S does not share",
    statement=r"K_{jT} \;\to\; K_{jT} - K_{jS} K_{SS}^{-1} K_{ST}",
    source=SOURCE,
    on=chart(features=uniform(-1, 1, 3, 4)),
    equal=(across, pinned),
    examples=(example(features=["1 .5 0 0", "0 2 0 0", "-.4 .8 .1 0"], value="-.4"),),
    floor=1e-2,
    tolerance=1e-7,
    note="It harms j where T helps S and S helps j: of a gradient of T that helps j by what it shares with S,"
    " the pin takes that share away.",
    false=(
        neighbour(
            "without S's own length",
            rhs=lambda features: (
                (k := features @ np.swapaxes(features, -1, -2))[..., 2, 0] - k[..., 2, 1] * k[..., 1, 0]
            ),
        ),
    ),
)
