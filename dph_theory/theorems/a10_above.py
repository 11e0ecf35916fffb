"""A10, seventh claim: forward KL and alpha-divergences with alpha >= 1 never choose a Dirac."""

import numpy as np

from ..divergences import FORWARD_KL, alpha_divergence
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import dirac_to_filtered, law_to_filtered

COVERING = (FORWARD_KL, alpha_divergence(1.5), alpha_divergence(2.0))


def law_distances(q: Values, base: Values) -> Values:
    return np.stack([law_to_filtered(q, base, divergence) for divergence in COVERING], axis=-1)


def dirac_distances(base: Values) -> Values:
    return np.stack([dirac_to_filtered(base, divergence) for divergence in COVERING], axis=-1)


THEOREM = Theorem(
    name="A10.above",
    title="For alpha >= 1 every law that keeps all outcomes is nearer to p_* than any Dirac",
    source=Source("ours", "f(0) = inf"),
    statement=r"\alpha \ge 1,\; q > 0,\; |Y_1| \ge 2:\quad"
    r" D_{f_\alpha}(q\|p_*) < \infty = \min_y D_{f_\alpha}(\delta_y\|p_*)",
    relation=Relation.AT_MOST,
    lhs=law_distances,
    rhs=dirac_distances,
    instances=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    expected=Verdict.CERTIFIED,
    examples=(example(q=".3 .3 .2 .2", base=".3 .2 .1 .4"),),
    false_neighbours=(
        neighbour(
            "at alpha = 0.99 too",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(0.99)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(0.99)),
        ),
        neighbour(
            "at alpha = -1 too, where invalid mass is what costs infinitely much",
            lhs=lambda q, base: law_to_filtered(q, base, alpha_divergence(-1.0)),
            rhs=lambda base: dirac_to_filtered(base, alpha_divergence(-1.0)),
        ),
    ),
)
