"""N8. Adam sees what its batches visited.

Adam divides by the root of a mean square that a few batches give. Rows of answers that stood in no mixed
group have none in them, since a group's advantages sum to zero, while the expected gradient has: a kernel in
the metric of such batches is far too large there. The squared mean gradient bounds the mean square below.
"""

from ..references import Source
from ..statement.charts import chart, example, simplex, uniform
from ..statement.theorem import neighbour, theorem
from ._transfer import Values

SOURCE = Source("ours", "transfer between prompts")


def squared_mean(law: Values, gradients: Values) -> Values:
    return (law * gradients).sum(axis=-1) ** 2


def mean_square(law: Values, gradients: Values) -> Values:
    return (law * gradients**2).sum(axis=-1)


FLOOR = theorem(
    "N8.floor",
    "The mean square of a weight's gradient is at least the square of its mean",
    statement=r"E[g^2] \ge (E g)^2",
    source=Source("ours", "Cauchy and Schwarz, for Adam's second moment"),
    on=chart(law=simplex(4), gradients=uniform(-2, 2, 4)),
    at_most=(squared_mean, mean_square),
    examples=(example(law=".1 .2 .3 .4", gradients="1 -1 .5 0", lhs=".0025", rhs=".375"),),
    floor=1e-6,
    false=(
        neighbour(
            "half of it at most",
            at=example(law=".25 .25 .25 .25", gradients="1 1 1 1"),
            rhs=lambda law, gradients: mean_square(law, gradients) / 2,
        ),
    ),
)
