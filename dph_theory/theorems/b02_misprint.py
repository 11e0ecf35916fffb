"""B2: the Jensen-Shannon generator as some summaries print it is no generator: it goes negative."""

import numpy as np
import sympy

from ..divergences import JENSEN_SHANNON
from ..fdivergence import u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import MISPRINT, misprinted


def zero(pi: Values) -> Values:
    return (0 * pi).sum(axis=-1)


def only_first_term_misprinted(pi: Values, ref: Values) -> Values:
    # u log(u/2) in place of u log u, the second term as it should be.
    return JENSEN_SHANNON(pi, ref) + (pi * (np.log(pi / ref / 2) - np.log(pi / ref))).sum(axis=-1)


def minimum(pi: Values) -> Values:
    """-log 2, the value at pi = ref."""
    return np.log((zero(pi) + 1) / 2)


def derivation() -> Claims:
    yield Claim("f(1) = -log 2", sympy.Subs(MISPRINT, u, 1), equals=-sympy.log(2))
    yield Claim("f(1) = 0, which a generator needs", sympy.Subs(MISPRINT, u, 1))


THEOREM = Theorem(
    name="B2.misprint",
    title="u log(u/2) - (u+1)/2 log((u+1)/2) as a Jensen-Shannon generator: refuted",
    source=Source("li2025choice", "as some summaries print it"),
    statement=r"f(1) = 0,\; E_{ref}[f(u)] \ge 0 \quad\text{for}\quad"
    r" f(u) = u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}",
    relation=Relation.AT_MOST,
    lhs=zero,
    rhs=misprinted,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.REFUTED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("only the first term misprinted", rhs=only_first_term_misprinted),
        neighbour("bounded below by 99.999% of -log 2", lhs=scaled(minimum, 0.99999)),
    ),
    note="As some summaries print it, the generator has f(1) = -log 2, so that equal distributions are at"
    " -log 2 from each other. The generator u log u - (u+1) log((u+1)/2) is non-negative (B1); the misprint"
    " is another divergence less log 2 (B2.value).",
)
