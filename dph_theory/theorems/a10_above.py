"""A10, seventh claim: forward KL and alpha-divergences with alpha >= 1 never choose a Dirac.

Losing a single valid outcome is what costs: the less of it a law keeps, the further it is, without bound.
"""

from collections.abc import Sequence

import numpy as np

from ..binary_reward import filtered
from ..divergences import FORWARD_KL, alpha_divergence, each
from ..fdivergence import FDivergence
from ..numeric.balls import Values, normalised
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import TWO_OF_FOUR, dirac_to_filtered, law_to_filtered

COVERING = (FORWARD_KL, alpha_divergence(1.5), alpha_divergence(2.0))


def law_distances(q: Values, base: Values) -> Values:
    return np.stack([law_to_filtered(q, base, divergence) for divergence in COVERING], axis=-1)


def dirac_distances(base: Values) -> Values:
    return np.stack([dirac_to_filtered(base, divergence) for divergence in COVERING], axis=-1)


def costs_of_one_outcome(q: Values, base: Values, divergences: Sequence[FDivergence] = COVERING) -> Values:
    """Of each valid outcome: the distance of q to p_* after all other outcomes are merged."""
    target, law = filtered(normalised(base), TWO_OF_FOUR), normalised(q)

    def cost(y: int) -> Values:
        kept, asked = (np.stack([p[..., y], 1 - p[..., y]], axis=-1) for p in (law, target))
        return each(lambda divergence: divergence(kept, asked), divergences)

    return np.concatenate([cost(0), cost(1)], axis=-1)


def costs_and_distances(q: Values, base: Values) -> Values:
    return np.concatenate([costs_of_one_outcome(q, base), law_distances(q, base)], axis=-1)


def distances(q: Values, base: Values) -> Values:
    law = law_distances(q, base)
    return np.concatenate([law, law, dirac_distances(base)], axis=-1)


THEOREM = Theorem(
    name="A10.above",
    title="For alpha >= 1 every law that keeps all outcomes is nearer to p_* than any Dirac",
    source=Source("ours", "f(0) = inf"),
    statement=r"\alpha \ge 1,\; q > 0,\; |Y_1| \ge 2:\quad"
    r" d_{f_\alpha}(q(y)\|p_*(y)) \le D_{f_\alpha}(q\|p_*) \;(y \in Y_1),\quad"
    r" \lim_{q(y) \to 0} d_{f_\alpha}(q(y)\|p_*(y)) = \infty:\quad"
    r" D_{f_\alpha}(q\|p_*) < \infty = \min_y D_{f_\alpha}(\delta_y\|p_*)",
    relation=Relation.AT_MOST,
    lhs=costs_and_distances,
    rhs=distances,
    instances=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    expected=Verdict.CERTIFIED,
    examples=(example(q=".3 .3 .2 .2", base=".3 .2 .1 .4"),),
    false_neighbours=(
        neighbour(
            "at alpha = 0.9998 too",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(0.9998)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(0.9998)),
        ),
        neighbour(
            "one outcome costs as much as both",
            lhs=lambda q, base: costs_of_one_outcome(q, base)[:, :3] + costs_of_one_outcome(q, base)[:, 3:],
            rhs=law_distances,
        ),
        neighbour(
            "at alpha = -1 too, where invalid mass is what costs infinitely much",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(-1.0)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(-1.0)),
        ),
    ),
)
