"""A10, second claim: for small beta the family's minimiser has the most validity, then the least cost."""

import numpy as np

from ..numeric.balls import Values, minimisers, normalised
from ..references import Source
from ..restricted import critical_beta, most_valid, projection, shared_value, validity_and_cost
from ..statement.charts import chart, example, log_uniform, masks, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour


def family_of(first: Values, second: Values, third: Values) -> Values:
    return normalised(np.stack([first, second, third], axis=-2))


def at_fraction(
    first: Values, second: Values, third: Values, base: Values, valid: Values, fraction: Values | float
) -> Values:
    family, base = family_of(first, second, third), normalised(base)
    chosen = projection(family, base, valid, fraction * critical_beta(family, base, valid))
    return np.stack([shared_value(chosen, x) for x in validity_and_cost(family, base, valid)], axis=-1)


def validity_first(first: Values, second: Values, third: Values, base: Values, valid: Values) -> Values:
    V, K = validity_and_cost(family_of(first, second, third), normalised(base), valid)
    return np.stack([shared_value(most_valid(V, K), x) for x in (V, K)], axis=-1)


def cost_first(first: Values, second: Values, third: Values, base: Values, valid: Values) -> Values:
    V, K = validity_and_cost(family_of(first, second, third), normalised(base), valid)
    return np.stack([shared_value(minimisers(-V, among=minimisers(K)), x) for x in (V, K)], axis=-1)


THEOREM = Theorem(
    name="A10.order",
    title="Below a critical beta the family's minimiser maximises validity first, then minimises KL(pi||a)",
    source=Source("dymetman2026binary", "misspecification"),
    statement=r"\beta < \min_{K(\pi)<K^*} \frac{V^*-V(\pi)}{K^*-K(\pi)} \;\Rightarrow\;"
    r" V(\pi_\beta) = V^*,\; K(\pi_\beta) = K^*",
    relation=Relation.EQUAL,
    lhs=at_fraction,
    rhs=validity_first,
    # Weights spread evenly and ends that differ, since the laws of a simplex chart crowd near the uniform
    # one and in its corners, where validities tie within rounding and no float can tell which is the most.
    instances=chart(
        first=log_uniform(1e-3, 1, 3),
        second=log_uniform(2e-3, 0.8, 3),
        third=log_uniform(5e-3, 0.7, 3),
        base=log_uniform(1e-3, 1, 3),
        valid=masks(3),
        fraction=uniform(0.01, 0.99),
    ),
    expected=Verdict.CERTIFIED,
    examples=(
        example(
            first="1 0 0 0",
            second="0 1 0 0",
            third=".3 .3 .2 .2",
            base=".3 .2 .1 .4",
            valid=[True, True, False, False],
            fraction=".99",
        ),
    ),
    false_neighbours=(
        neighbour(
            "still so at 1% above the critical beta",
            lhs=lambda first, second, third, base, valid: at_fraction(
                first, second, third, base, valid, 1.01
            ),
        ),
        neighbour("least cost first, then validity", rhs=cost_first),
        near(0.01, fraction=(0.6, 0.0003)),
    ),
)
