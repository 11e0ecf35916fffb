"""E4, third claim: at both ends the weight is (G-1)/sqrt G, not infinite."""

import numpy as np

from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._laws import expected_weight

SIZES = (2, 4, 8, 16, 64)


def near_the_ends(pace: Values, eps: float) -> Values:
    ends = np.stack([eps * pace, 1 - eps * pace], axis=-1)
    return np.stack([expected_weight(size, ends) for size in SIZES], axis=1)


def bounded() -> Values:
    return np.array([[(size - 1) / np.sqrt(size)] * 2 for size in SIZES])[None]


def population(pace: Values, eps: float) -> Values:
    rare = (eps * pace)[:, None, None]
    return np.broadcast_to(1 / np.sqrt(rare * (1 - rare)), (len(pace), len(SIZES), 2))


THEOREM = Theorem(
    name="E4.ends",
    title="alpha_G(0+) = alpha_G(1-) = (G-1)/sqrt G: a group weighs rare successes boundedly",
    source=Source("ours", "group normalisation"),
    statement=r"\alpha_G(V) \to \tfrac{G-1}{\sqrt G} \text{ as } V \to 0 \text{ or } 1",
    relation=Relation.TENDS,
    lhs=near_the_ends,
    rhs=bounded,
    instances=chart(pace=uniform(0.5, 2)),
    expected=Verdict.HOLDS,
    examples=(example(pace="1"),),
    certified=False,
    tolerance=1e-5,
    false_neighbours=(
        neighbour("1/sqrt(V(1-V))", rhs=population),
        neighbour("sqrt(G-1)", rhs=lambda: np.sqrt([[size - 1.0] * 2 for size in SIZES])[None]),
        near(1, pace=(1.4, 0.0007)),
    ),
)
