"""L1: a continuous function on a closed interval has a least value there, the extreme value theorem."""

import numpy as np

from ..numeric.balls import Values, lowest
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def height(x: Values, centre: Values) -> Values:
    return (x - centre) ** 2


def least(centre: Values) -> Values:
    """The least value on [0, 1], at the centre cut to the interval."""
    below, above = -centre, centre - 1
    outside = (abs(below) + below) / 2 + (abs(above) + above) / 2
    return outside**2


THEOREM = Theorem(
    name="L1.least",
    title="A continuous function on a closed interval has a least value there, positive if the function is",
    source=Source("rudin1976principles", "theorem 4.16"),
    statement=r"f \text{ continuous on } [0, 1] \;\Rightarrow\; \exists x^*:\, f(x^*) \le f(x)"
    r" \text{ for every } x \quad (\text{here } f(x) = (x - c)^2)",
    relation=Relation.AT_MOST,
    lhs=least,
    rhs=height,
    instances=chart(x=uniform(0, 1), centre=uniform(-2, 3)),
    expected=Verdict.HOLDS,
    certified=False,  # Where x is the centre both sides are zero, a tie that balls do not decide.
    examples=(example(x=".3", centre="1.5"), example(x=".3", centre=".5")),
    false_neighbours=(
        neighbour("a least value higher by 1e-6", lhs=lambda centre: least(centre) + 1e-6),
        neighbour(
            "always at an end", lhs=lambda centre: lowest(np.stack([centre**2, (1 - centre) ** 2], axis=-1))
        ),
        near(-1, centre=(1, 0.005)),
    ),
    note="A textbook lemma, not proved here.",
)
