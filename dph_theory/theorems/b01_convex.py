"""B1, first claim: every declared generator is convex and vanishes at u = 1."""

import numpy as np

from ..divergences import JENSEN_SHANNON, SMOOTH, each
from ..estimators import k2_of_ratio
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import convexity


def mixture(v: Values, w: Values, t: Values) -> Values:
    return (1 - t) * v + t * w


def at_the_mixture(v: Values, w: Values, t: Values) -> Values:
    ratio = mixture(v, w, t)
    return each(lambda divergence: divergence.generator(ratio), SMOOTH)


def on_the_chord(v: Values, w: Values, t: Values) -> Values:
    return each(lambda divergence: mixture(divergence.generator(v), divergence.generator(w), t), SMOOTH)


def first_term_halved(ratio: Values) -> Values:
    return JENSEN_SHANNON.generator(ratio) - ratio * np.log(ratio) / 2


THEOREM = Theorem(
    name="B1.convex",
    title="Every smooth generator is convex with f(1) = 0",
    source=Source("li2025choice", "generators"),
    statement=r"f((1-t)v + tw) \le (1-t) f(v) + t f(w), \quad f(1) = 0,\quad f \in \{-\log u,\; u\log u,\;"
    r" u\log u - (u+1)\log\tfrac{u+1}{2},\; \tfrac{u^{1-\alpha} - (1-\alpha)u - \alpha}{\alpha(\alpha-1)},"
    r"\; \ldots\}",
    relation=Relation.AT_MOST,
    lhs=at_the_mixture,
    rhs=on_the_chord,
    instances=chart(v=log_uniform(1e-6, 1e6), w=log_uniform(1e-6, 1e6), t=uniform(0.01, 0.99)),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(v=".4", w="2.5", t=".5"), example(v="1", w="9", t=".01")),
    symbolic=convexity,
    false_neighbours=(
        neighbour(
            "k2 = (log u)^2/2 as a generator",
            lhs=lambda v, w, t: k2_of_ratio(mixture(v, w, t)),
            rhs=lambda v, w, t: mixture(k2_of_ratio(v), k2_of_ratio(w), t),
        ),
        neighbour(
            "Jensen-Shannon with its first term halved",
            lhs=lambda v, w, t: first_term_halved(mixture(v, w, t)),
            rhs=lambda v, w, t: mixture(first_term_halved(v), first_term_halved(w), t),
        ),
        near(-0.01, t=(0.6, 0.0003)),
    ),
)
