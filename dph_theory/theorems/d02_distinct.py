"""D2, first claim: the expected number of distinct valid outputs in k draws, by enumeration."""

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ..binary_reward import valid_mass
from ..coverage import expected_distinct_valid
from ..numeric.arrays import whole
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, integers, masks, simplex
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE

MOST_K = 4


def by_enumeration(q: Values, valid: Values, k: Values) -> Values:
    """The mean over all sequences of draws of the distinct valid outcomes among the first k."""
    outcomes = q.shape[-1]
    draws = np.array(list(product(range(outcomes), repeat=MOST_K)))
    # seen[k-1, sequence, outcome]: whether the outcome is among the first k of the sequence.
    seen = np.logical_or.accumulate((draws[..., None] == np.arange(outcomes)).swapaxes(0, 1), axis=0)
    within = seen[whole("k", k, at_least=1) - 1]
    distinct = (within & valid[:, None, :]).sum(axis=-1)
    return (distinct * np.prod(q[:, draws], axis=-1)).sum(axis=-1)


def counting_repeats(q: Values, valid: Values, k: Values) -> Values:
    return k * valid_mass(q, valid)


def counting_invalid(q: Values, valid: Values, k: Values) -> Values:
    return expected_distinct_valid(q, valid | True, k)


def two_valid(k: int, mu: Scalar, share: Scalar) -> dict[str, Any]:
    return {"q": [mu * share, mu * (1 - share), 1 - mu], "valid": [True, True, False], "k": k}


def polynomials(k: int, mu: Scalar, share: Scalar) -> list[tuple[Scalar, Scalar]]:
    q = mu * share, mu * (1 - share), 1 - mu
    found = sum(
        len({0, 1} & set(draws)) * math.prod(q[y] for y in draws) for draws in product(range(3), repeat=k)
    )
    return [(found, sum(1 - (1 - mass) ** k for mass in q[:2]))]


THEOREM = Theorem(
    name="D2.distinct",
    title="Expected distinct valid outputs in k draws: sum over Y1 of 1 - (1-q)^k",
    source=Source("ours", "linearity"),
    statement=r"\mathrm{E}\,|\{y_1,\dots,y_k\} \cap Y_1| = \sum_{y \in Y_1} 1-(1-q(y))^k",
    relation=Relation.EQUAL,
    lhs=by_enumeration,
    rhs=expected_distinct_valid,
    instances=chart(q=simplex(3), valid=masks(3), k=integers(1, MOST_K)),
    expected=Verdict.ENCLOSED,
    examples=(example(q=".48 .32 .2", valid=[True, True, False], k=4),),
    reductions=tuple(
        Reduction(
            f"two valid outcomes, one invalid, k = {k}",
            {"mu": SHARE, "share": SHARE},
            partial(two_valid, k),
            sides=partial(polynomials, k),
        )
        for k in range(1, MOST_K + 1)
    ),
    false_neighbours=(
        neighbour("repeats counted, k q(Y1)", rhs=counting_repeats),
        neighbour("invalid outputs counted too", rhs=counting_invalid),
        near(0.01, q=(0.35, 0.0002)),
    ),
)
