"""L1: the second difference quotient tends to the second derivative, Taylor's theorem as used here."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def quotient(x: Values, h: Values, eps: float) -> Values:
    step = h * eps
    return np.stack(
        [(f(x + step) + f(x - step) - 2 * f(x)) / step**2 for f in (np.exp, np.log, np.sin)], axis=-1
    )


def second_derivative(x: Values) -> Values:
    return np.stack([np.exp(x), -1 / x**2, -np.sin(x)], axis=-1)


def one_sided(x: Values, h: Values, eps: float) -> Values:
    step = h * eps
    return np.stack([(f(x + step) - f(x)) / step**2 for f in (np.exp, np.log, np.sin)], axis=-1)


THEOREM = Theorem(
    name="L1.curvature",
    title="The symmetric second difference over the squared step tends to the second derivative",
    source=Source("rudin1976principles", "exercise 5.11"),
    statement=r"\frac{f(x + h\epsilon) + f(x - h\epsilon) - 2 f(x)}{(h\epsilon)^2} \to f''(x)"
    r" \quad (\text{here } f = \exp, \log, \sin)",
    relation=Relation.TENDS,
    lhs=quotient,
    rhs=second_derivative,
    instances=chart(x=uniform(0.5, 3), h=uniform(0.1, 0.4)),
    expected=Verdict.HOLDS,
    examples=(example(x="1", h=".25"),),
    ladder=(1.0, 0.3, 0.1, 0.03),
    tolerance=1e-3,
    floor=1.0,
    false_neighbours=(
        neighbour("2% more", rhs=lambda x: 1.02 * second_derivative(x)),
        neighbour("a one-sided difference", lhs=one_sided),
        near(1, h=(0.28, 0.0002)),
    ),
    note="A textbook lemma, not proved here.",
)
