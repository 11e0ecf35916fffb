"""B1: merging outcomes never increases an f-divergence, the data processing inequality."""

from typing import Any

import numpy as np
import sympy

from ..divergences import SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import Law, chance
from ._generators import merging
from ._lemmas import PAIR


def merged(law: Values) -> Values:
    """The law with its last two outcomes merged."""
    return np.concatenate([law[..., :-2], law[..., -2:].sum(axis=-1, keepdims=True)], axis=-1)


def coarse(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(merged(pi), merged(ref)), SMOOTH)


def fine(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), SMOOTH)


def mean_half_squared_log(pi: Values, ref: Values) -> Values:
    return (ref * k2_of_ratio(pi / ref)).sum(axis=-1)


def derivation() -> Claims:
    # For two merged outcomes of reference masses b1, b2 and ratios u1, u2 the merged ratio is their mean
    # with weights b/(b1+b2), so the inequality is convexity of f at these two points (B1.convex), times b1
    # + b2. More outcomes are merged one after the other.
    b1, b2, u1, u2 = sympy.symbols("b1 b2 u1 u2", positive=True)
    t = b2 / (b1 + b2)
    merged_ratio = (b1 * u1 + b2 * u2) / (b1 + b2)
    yield Claim("the merged ratio is a mixture of the two", merged_ratio, equals=(1 - t) * u1 + t * u2)
    f1, f2 = sympy.symbols("f1 f2", real=True)
    chord = (b1 + b2) * ((1 - t) * f1 + t * f2)
    yield Claim("and the chord's value, times b1 + b2, the two terms", chord, equals=b1 * f1 + b2 * f2)


def two_merged(first: Law, second: Law, ratio: Scalar, share: Scalar) -> dict[str, Any]:
    """Reference masses share/(1+u) times the first law, policy masses u times as much of the second."""
    below = share / (1 + ratio)
    pi = [1 - ratio * below, *(ratio * below * mass for mass in second)]
    return {"pi": pi, "ref": [1 - below, *(below * mass for mass in first)]}


THEOREM = Theorem(
    name="B1.processing",
    title="Merging outcomes never increases a divergence",
    source=Source("ours", "classical, from convexity"),
    statement=r"D_f(T\pi\|T\pi_{ref}) \le D_f(\pi\|\pi_{ref}) \text{ for } T \text{ that merges outcomes}",
    relation=Relation.AT_MOST,
    lhs=coarse,
    rhs=fine,
    instances=chart(pi=simplex(3, zeros=True), ref=simplex(3, zeros=True)),
    expected=Verdict.PROVED,
    given=("B1.convex",),
    tight=True,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    reductions=merging(
        "the merged outcomes' ratios about their mean, whatever the mass of the others",
        two_merged,
        lambda odds, ratio, share: share / (1 + ratio) * chance(odds),
    ),
    false_neighbours=(
        neighbour("a coarse divergence 2% larger", lhs=scaled(coarse, 1.02)),
        neighbour(
            "k2 = (log u)^2/2, not convex, as a generator",
            lhs=lambda pi, ref: mean_half_squared_log(merged(pi), merged(ref)),
            rhs=mean_half_squared_log,
            instances=PAIR,
        ),
        masses_clamped("ref", 4.3e-10, "lhs"),
    ),
)
