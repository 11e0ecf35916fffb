"""F3. The order of MaxRL.

That MaxRL's objective has the order of the group size: where all-wrong groups are dropped it is one less.
"""

from functools import partial

import numpy as np

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.theorem import neighbour, refuted
from ._laws import expected_weights

SIZES = (2, 4, 8)


def weights(validity: Values) -> Values:
    return expected_weights(SIZES, validity, "mean")


def slopes(validity: Values, beyond: int = 0) -> Values:
    """d/dV of sum_{k <= G + beyond} pass@k/k, which is the sum of (1-V)^(k-1)."""
    return np.stack(
        [sum((1 - validity) ** (k - 1) for k in range(1, size + beyond + 1)) for size in SIZES], axis=-1
    )


ORDER = refuted(
    "F3.order",
    "MaxRL's order is the group size: refuted, it is G - 1",
    statement=r"\alpha_G(V) = \tfrac{d}{dV}\textstyle\sum_{k=1}^{G} \tfrac{1-(1-V)^k}{k}",
    source=Source("tajwar2026maxrl", "as summarised; the paper was not read"),
    on=chart(validity=rates(low=1e-3, high=1e-3)),
    equal=(weights, slopes),
    examples=(example(validity=".25", lhs="1 2.3125 3.46606", rhs="1.75 2.734375 3.59955"),),
    note="Of (r - mean)/mean with all-wrong groups dropped the sum stops at k = G - 1 (E4.mean). Of r/mean"
    " it stops at G: where groups are dropped, subtracting the mean is not free.",
    coq="not_the_group_size",
    false=(neighbour("order G + 1", rhs=partial(slopes, beyond=1)),),
)
