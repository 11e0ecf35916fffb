"""B1: what Jensen-Shannon charges for forgetting is bounded; forward KL's charge is not."""

import numpy as np

from ..divergences import FORWARD_KL, JENSEN_SHANNON, TOTAL_VARIATION
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import EDGED_PAIR, PAIRS


def bound(pi: Values, ref: Values) -> Values:
    # f(0) = log 2, f(1) = 0 and f(u)/u -> log 2: by convexity f(u) <= |u-1| log 2.
    distance = TOTAL_VARIATION(pi, ref)
    return 2 * np.log(2 + 0 * distance) * distance


THEOREM = Theorem(
    name="B1.forgetting",
    title="Jensen-Shannon's cost of forgetting is bounded: D <= 2 TV log 2, whatever is forgotten",
    source=Source("li2025choice", "generators"),
    statement=r"D_{f_{JS}}(\pi\|\pi_{ref}) \le 2\log 2\;\mathrm{TV}(\pi,\pi_{ref}) \le 2\log 2",
    relation=Relation.AT_MOST,
    lhs=JENSEN_SHANNON,
    rhs=bound,
    instances=EDGED_PAIR,
    expected=Verdict.CERTIFIED,
    examples=PAIRS,
    tight=True,
    false_neighbours=(
        neighbour("forward KL as well", lhs=FORWARD_KL),
        neighbour("the bound of the divergence itself, half of it", rhs=scaled(bound, 0.5)),
        masses_clamped("pi", 1e-8),
    ),
    note="Attained where policy and reference share no outcome. Forward KL is infinite as soon as one outcome"
    " of the reference is lost.",
)
