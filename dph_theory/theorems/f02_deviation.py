"""F2, refuted at every finite group size: GRPO weighs prompts by 1/sqrt(p(1-p))."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._laws import expected_weights

SIZES = (4, 8, 64)


def weights(validity: Values) -> Values:
    return expected_weights(SIZES, validity)


def population(validity: Values) -> Values:
    return np.stack([1 / np.sqrt(validity * (1 - validity))] * len(SIZES), axis=-1)


def population_of_groups(validity: Values) -> Values:
    """The claim's refinement by the factor that makes it exact at p = 1/2."""
    return population(validity) * weights(0.5 + 0 * validity) / 2


THEOREM = Theorem(
    name="F2.deviation",
    title="GRPO weighs prompts by 1/sqrt(p(1-p)): refuted at every group size",
    source=Source("mroueh2025grpo", "true of the population deviation"),
    statement=r"\alpha_G(p) = 1/\sqrt{p(1-p)}",
    relation=Relation.EQUAL,
    lhs=weights,
    rhs=population,
    instances=chart(validity=rates(low=1e-3, high=1e-3)),
    expected=Verdict.REFUTED,
    examples=(example(validity=".01"),),
    digits=6,
    false_neighbours=(
        neighbour("up to a factor for each group size", rhs=population_of_groups),
        neighbour(
            "at most its share of that at p = 1/2, less 1e-7",
            relation=Relation.AT_MOST,
            rhs=scaled(population_of_groups, 1 - 1e-7),
            instances=chart(validity=uniform(0.001, 0.999)),
        ),
    ),
    note="The limit of large groups at fixed p. At p = .01 it is 10.05, and alpha_8 is 2.44; the weight is"
    " bounded by (G-1)/sqrt G (E4.ends).",
)
