"""F10. Does reinforcement learning end closest to the base?.

That on-policy updates end, of all policies that solve a task, at the one closest in KL: natural gradients do,
plain ones do not.
"""

import numpy as np

from ..binary_reward import valid_mass
from ..divergences import REVERSE_KL
from ..dynamics.decision import uniform_on_likeliest
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import neighbour, refuted, scaled


def where_it_ends(base: Values, valid: Values) -> Values:
    return REVERSE_KL(uniform_on_likeliest(base, valid), base)


def closest(base: Values, valid: Values) -> Values:
    return -np.log(valid_mass(base, valid))


RAZOR = refuted(
    "F10.closest",
    "Policy gradients converge to the solution closest in KL to the base: refuted for one decision's softmax",
    statement=r"\mathrm{KL}(q_\infty\|a) = \min_{q(Y_1) = 1} \mathrm{KL}(q\|a)",
    source=Source("shenfeld2025razor", "as its abstract can be read; the paper was not read"),
    on=chart(base=simplex(4, spread=2), valid=masks(4)),
    equal=(where_it_ends, closest),
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, True, False]),),
    note="The least is -log A1, at the filtered model alone (A7.closest): .5108 in the example. The plain"
    " gradient of one decision's logits ends uniform on the likeliest correct answers (A2.limit): 1.2040;"
    " where tokens share prefixes its limit is another (A2.limit's neighbour). The natural gradient"
    " converges to the filtered model (A3), and so does KL control as beta falls to 0 (A6): what is closest"
    " is selected by the geometry or the penalty, not by sampling on policy.",
    false=(
        neighbour(
            "farther by no more than a quarter",
            at=example(base=".3 .2 .1 .4", valid=[True, True, True, False]),
            lhs=scaled(where_it_ends, 0.8),
        ),
    ),
)
