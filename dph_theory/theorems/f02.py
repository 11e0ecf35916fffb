"""F2. GRPO's weight of a prompt.

That GRPO weighs prompts by 1/sqrt(p(1-p)) is the limit of large groups; groups of 4, 8 and 64 do not.
"""

import numpy as np

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.theorem import neighbour, refuted
from ._laws import expected_weights

SIZES = (4, 8, 64)


def weights(validity: Values) -> Values:
    return expected_weights(SIZES, validity)


def population(validity: Values) -> Values:
    return np.stack([1 / np.sqrt(validity * (1 - validity))] * len(SIZES), axis=-1)


def population_of_groups(validity: Values) -> Values:
    """The claim's refinement by the factor that makes it exact at p = 1/2."""
    return population(validity) * weights(0.5 + 0 * validity) / 2


DEVIATION = refuted(
    "F2.deviation",
    "GRPO weighs prompts by 1/sqrt(p(1-p)): refuted for groups of 4, 8 and 64",
    statement=r"\alpha_G(p) = 1/\sqrt{p(1-p)}",
    source=Source("mroueh2025grpo", "true of the population std"),
    on=chart(validity=rates(low=1e-3, high=1e-3)),
    equal=(weights, population),
    examples=(example(validity=".01", lhs="1.49602 2.44037 6.68336", rhs="10.0504 10.0504 10.0504"),),
    note="The limit of large groups at fixed p; the kernel has G = 4. At p = .01 it is 10.05, alpha_8 2.44;"
    " the weight is bounded by (G-1)/sqrt G (E4.ends).",
    coq="not_the_deviation",
    false=(neighbour("up to a factor for each group size", rhs=population_of_groups),),
)
