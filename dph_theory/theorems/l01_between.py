"""L1: a continuous function that changes sign has a zero, the intermediate value theorem."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour

HALVINGS = 60


def cubic(x: Values, slope: Values, height: Values) -> Values:
    return x**3 + slope * x - height


def value_where_halving_ends(slope: Values, height: Values) -> Values:
    """The cubic, negative at 0 and positive at 1 + height, where halving the interval ends."""
    low, high = 0 * height, 1 + height
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        negative = cubic(middle, slope, height) < 0
        low, high = np.where(negative, middle, low), np.where(negative, high, middle)
    return cubic((low + high) / 2, slope, height)


def jump(slope: Values, height: Values) -> Values:
    """The same of a function that jumps over zero: 0.001 of the height is added where it is positive."""
    value = value_where_halving_ends(slope, height)
    return value + 0.001 * height


THEOREM = Theorem(
    name="L1.between",
    title="A continuous function that changes sign has a zero in between",
    source=Source("rudin1976principles", "theorem 4.23"),
    statement=r"f \text{ continuous},\; f(0) < 0 < f(b) \;\Rightarrow\; \exists x \in (0, b):\, f(x) = 0"
    r" \quad (\text{here } f(x) = x^3 + sx - h)",
    relation=Relation.EQUAL,
    lhs=value_where_halving_ends,
    rhs=lambda height: 0 * height,
    instances=chart(slope=uniform(0, 2), height=log_uniform(1e-2, 10)),
    expected=Verdict.HOLDS,
    examples=(example(slope="1", height="2"),),
    certified=False,
    floor=1.0,
    false_neighbours=(
        neighbour("a function that jumps over zero", lhs=jump),
        neighbour("one that stays negative", lhs=lambda slope, height: -height - slope * height),
        near(0.01, slope=(1.2, 0.0004)),
    ),
    note="A textbook lemma, not proved here.",
)
