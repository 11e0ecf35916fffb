"""F9. Group size and the path.

That the path of the expected gradient does not depend on the group size, which sets its noise alone: not
where advantages are std-normalised.
"""

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, rates
from ..statement.theorem import neighbour, refuted
from ._laws import expected_weights

SIZES = (2, 4, 8)


def weights(validity: Values) -> Values:
    return expected_weights(SIZES, validity)


def of_twice_the_size(validity: Values) -> Values:
    return expected_weights([2 * size for size in SIZES], validity)


def rescaled(validity: Values) -> Values:
    """The same times what makes the two equal at V = 1/2: if the group size were a mere rescaling of time."""
    half = (1 + 0 * validity) / 2
    return of_twice_the_size(validity) * (weights(half) / of_twice_the_size(half))


GROUPS = refuted(
    "F9.groups",
    "The group size leaves GRPO's expected-gradient path as it is: refuted",
    statement=r"\alpha_G(V) = \alpha_{2G}(V)",
    source=Source("ghosh2026predictable", "as its abstract can be read; the paper was not read"),
    on=chart(validity=rates(low=1e-3, high=1e-3)),
    equal=(weights, of_twice_the_size),
    examples=(example(validity=".01"),),
    note="The weight of a prompt is alpha_G(V) (E4): at V = .01 it is .707, 1.496 and 2.440 for groups of 2,"
    " 4 and 8, at V = .5 .707, 1.400 and 1.736. So neither is it a mere change of clock or of beta: rare"
    " successes gain more from larger groups than even ones. Without the division the path is that of the"
    " pass rate for every G, and the group size sets the noise alone (G3).",
    false=(neighbour("up to another clock", rhs=rescaled),),
)
