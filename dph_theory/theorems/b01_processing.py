"""B1: merging outcomes never increases an f-divergence, the data processing inequality."""

import numpy as np

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import convexity


def merged(law: Values) -> Values:
    """The law with its last two outcomes merged."""
    return np.concatenate([law[..., :-2], law[..., -2:].sum(axis=-1, keepdims=True)], axis=-1)


def coarse(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(merged(pi), merged(ref)), SMOOTH)


def fine(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), SMOOTH)


def mean_half_squared_log(pi: Values, ref: Values) -> Values:
    return (ref * k2_of_ratio(pi / ref)).sum(axis=-1)


THEOREM = Theorem(
    name="B1.processing",
    title="Merging outcomes never increases a divergence",
    source=Source("ours", "classical, from convexity"),
    statement=r"D_f(T\pi\|T\pi_{ref}) \le D_f(\pi\|\pi_{ref}) \text{ for } T \text{ that merges outcomes}",
    relation=Relation.AT_MOST,
    lhs=coarse,
    rhs=fine,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    tight=True,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    # For two merged outcomes of reference masses b1, b2 and ratios u1, u2 the merged ratio is their mean with
    # weights b/(b1+b2), so the inequality is convexity of f at these two points, times b1 + b2.
    symbolic=convexity,
    false_neighbours=(
        neighbour("a coarse divergence 2% larger", lhs=scaled(coarse, 1.02)),
        neighbour(
            "k2 = (log u)^2/2, not convex, as a generator",
            lhs=lambda pi, ref: mean_half_squared_log(merged(pi), merged(ref)),
            rhs=mean_half_squared_log,
        ),
    ),
)
