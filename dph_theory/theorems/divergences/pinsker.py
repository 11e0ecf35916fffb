"""Generalised Pinsker inequalities.

TV^2 <= D_f/(2 f''(1)) for forward KL, reverse KL, alpha in [-1, 2] and the Jensen-Shannon generator, by one
lemma of Gilardoni's; it fails for alpha = 2.5.
"""

from collections.abc import Sequence

import numpy as np

from ...divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, TOTAL_VARIATION, alpha_divergence, stacked
from ...fdivergence import FDivergence
from ...numeric.elementary import Values
from ...references import Source
from ...verification.charts import example
from ...verification.statement import Side, neighbour, scaled, theorem
from .._policies import FAR_PAIR, NEAR_PAIR, PAIR_WITH_ZEROS, PI_REF


def squared_variation(pi: Values, ref: Values) -> Values:
    """Squared total variation TV(pi, ref)^2, shape (..., 1)."""
    return np.square(TOTAL_VARIATION(pi, ref))[..., None]


def pinsker_bounds(divergences: Sequence[FDivergence]) -> Side:
    """Function of (pi, ref) that returns D_f/(2 f''(1)), which bounds TV^2, (..., divergences)."""
    return lambda pi, ref: stacked(lambda f: f(pi, ref) / (2 * f.curvature), divergences)


NEARLY_EVEN = example(pi=".501 .499", ref=".5 .5")
"""Nearly equal distributions, at which the bounds are nearly attained."""

KL = theorem(
    "Pinsker: TV^2 <= KL/2, in both directions",
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \tfrac12 D_f,\quad"
    r" D_f \in \{\mathrm{KL}(\pi_{ref}\|\pi),\; \mathrm{KL}(\pi\|\pi_{ref})\},\; \pi > 0",
    source=Source("gilardoni2010pinsker", "forward and reverse KL"),
    on=PAIR_WITH_ZEROS,
    at_most=(squared_variation, pinsker_bounds((FORWARD_KL, REVERSE_KL))),
    examples=(PI_REF.giving(lhs=".09", rhs=".1503464381283 .1768913006851"),),
    coq="pinsker_both_ways",
    # Both sides are second order at pi = ref, where the bound is tight.
    floor=1e-12,
    false=(
        neighbour(
            "reverse KL, constant cut by 2%", at=NEARLY_EVEN, rhs=scaled(pinsker_bounds((REVERSE_KL,)), 0.98)
        ),
    ),
)


JS = theorem(
    "TV^2 <= D_JS for the Jensen-Shannon generator (twice the divergence)",
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \mathrm{KL}(\pi\|m) +"
    r" \mathrm{KL}(\pi_{ref}\|m),\quad \pi > 0",
    source=Source("gilardoni2010pinsker", "Jensen-Shannon"),
    on=PAIR_WITH_ZEROS,
    at_most=(squared_variation, pinsker_bounds((JENSEN_SHANNON,))),
    examples=(PI_REF.giving(lhs=".09", rhs=".1534056926223"),),
    floor=1e-12,
    coq="pinsker_for_js",
    false=(
        neighbour("the constant of the KLs, f''(1) = 1", rhs=scaled(pinsker_bounds((JENSEN_SHANNON,)), 0.5)),
    ),
)


FAMILY = {alpha: alpha_divergence(alpha) for alpha in (-1, -0.5, 0.25, 0.5, 1.5, 2)}

ALPHA = theorem(
    "TV^2 <= D_alpha/2 for alpha in [-1, 2]",
    statement=r"\mathrm{TV}^2 \le \frac{D_\alpha}{2 f''(1)} = \tfrac12 D_\alpha,\quad \alpha \in [-1, 2]",
    source=Source("gilardoni2010pinsker", "alpha in [-1, 2]"),
    on=PAIR_WITH_ZEROS,
    at_most=(squared_variation, pinsker_bounds([*FAMILY.values()])),
    examples=(FAR_PAIR, NEAR_PAIR),
    floor=1e-12,
    false=(
        *(
            neighbour(
                f"alpha = {alpha:g}, constant cut by 2%",
                at=NEARLY_EVEN,
                rhs=scaled(pinsker_bounds((FAMILY[alpha],)), 0.98),
            )
            for alpha in (-1, 0.5, 2)
        ),
        neighbour(
            "alpha = 2.5",
            rhs=pinsker_bounds((alpha_divergence(2.5),)),
            examples=(example(pi=".4335 .5665", ref=".0001 .9999"),),
        ),
    ),
)
