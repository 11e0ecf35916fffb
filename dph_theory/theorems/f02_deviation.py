"""F2, refuted at every finite group size: GRPO weighs prompts by 1/sqrt(p(1-p))."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import expected_weight

SIZES = (4, 8, 64)


def weights(validity: Values) -> Values:
    return np.stack([expected_weight(size, validity) for size in SIZES], axis=-1)


def population(validity: Values) -> Values:
    return np.stack([1 / np.sqrt(validity * (1 - validity))] * len(SIZES), axis=-1)


def population_of_groups(validity: Values) -> Values:
    """The claim's refinement by the factor that makes it exact at p = 1/2."""
    half = 0.5 + 0 * validity
    return np.stack(
        [expected_weight(s, half) / 2 / np.sqrt(validity * (1 - validity)) for s in SIZES], axis=-1
    )


def of_small_groups(validity: Values) -> Values:
    return np.stack([expected_weight(size, validity) for size in (2, 3)], axis=-1)


def constants(validity: Values) -> Values:
    """What the weights of groups of two and of three are whatever p."""
    one = 1 + 0 * validity
    return np.stack([one / np.sqrt(2 * one), 2 * one / np.sqrt(3 * one)], axis=-1)


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
        near(0.01, {"lhs": of_small_groups, "rhs": constants}, validity=(0.3, 0.0003)),
    ),
    note="The limit of large groups at fixed p. At p = .01 it is 10.05, and alpha_8 is 2.44; the weight is"
    " bounded by (G-1)/sqrt G (E4.ends).",
)
