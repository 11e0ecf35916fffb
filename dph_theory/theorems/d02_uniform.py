"""D2, second claim: at fixed validity uniform on Y1 finds the most distinct outputs, a Dirac the fewest."""

import math
from functools import partial
from typing import Any

import numpy as np

from ..coverage import exact_pass_at_k, expected_distinct_valid
from ..numeric.balls import Values, only
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, integers, simplex
from ..statement.neighbours import masses_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import SHARE
from ._lemmas import concavity_of_hits


def all_but_last(q: Values) -> Values:
    """The verifier: every outcome is valid but the last."""
    return np.arange(q.shape[-1]) < q.shape[-1] - 1


def validity(q: Values) -> Values:
    return only(q, all_but_last(q)).sum(axis=-1)


def distinct(q: Values, k: Values) -> Values:
    return expected_distinct_valid(q, all_but_last(q), k)


def distinct_if_uniform(q: Values, k: Values) -> Values:
    valid = all_but_last(q)
    return distinct(np.where(valid, validity(q)[..., None] / int(valid.sum()), q), k)


def dirac_then_law(q: Values, k: Values) -> Values:
    return np.stack([exact_pass_at_k(validity(q), k), distinct(q, k)], axis=-1)


def law_then_uniform(q: Values, k: Values) -> Values:
    return np.stack([distinct(q, k), distinct_if_uniform(q, k)], axis=-1)


def two_valid(k: int, mu: Scalar, apart: Scalar) -> dict[str, Any]:
    return {"q": [mu * (1 + apart) / 2, mu * (1 - apart) / 2, 1 - mu], "k": k}


def gained(k: int, mu: Scalar, apart: Scalar) -> list[Scalar]:
    # The chance that both are found, over the product of their masses; and the even terms of the binomial.
    x, y = mu * (1 + apart) / 2, mu * (1 - apart) / 2
    both = sum(
        math.comb(k, i) * math.comb(k - i, j) * x ** (i - 1) * y ** (j - 1) * (1 - mu) ** (k - i - j)
        for i in range(1, k)
        for j in range(1, k - i + 1)
    )
    rest, h2 = 1 - mu / 2, (mu * apart / 2) ** 2
    even = (math.comb(k, 2 * j) * rest ** (k - 2 * j) * h2 ** (j - 1) for j in range(1, k // 2 + 1))
    return [both, 2 * sum(even)]


THEOREM = Theorem(
    name="D2.uniform",
    title="Dirac <= q <= uniform on Y1 in expected distinct valid outputs, at fixed validity, k >= 2",
    source=Source("ours", "concavity"),
    statement=r"1-(1-\mu)^k \;\le\; \sum_{Y_1} 1-(1-q)^k \;\le\; |Y_1|\,\bigl(1-(1-\mu/|Y_1|)^k\bigr),"
    r" \quad \mu = q(Y_1)",
    relation=Relation.AT_MOST,
    lhs=dirac_then_law,
    rhs=law_then_uniform,
    instances=chart(q=simplex(4), k=integers(2, 12)),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(q=".48 .32 .2", k=4),),
    symbolic=concavity_of_hits,
    tight=True,
    reductions=tuple(
        Reduction(
            f"two valid outcomes of masses mu (1 +- apart)/2, one invalid, k = {k}",
            {"mu": SHARE, "apart": SHARE},
            partial(two_valid, k),
            gap=partial(gained, k),
            factor=lambda mu, apart: [mu**2 * (1 - apart**2) / 4, (mu * apart / 2) ** 2],
        )
        for k in (2, 3, 4, 8, 12)
    ),
    false_neighbours=(
        neighbour("2% fewer for the uniform law", lhs=distinct, rhs=scaled(distinct_if_uniform, 0.98)),
        neighbour(
            "a Dirac finds 2% more", lhs=lambda q, k: 1.02 * exact_pass_at_k(validity(q), k), rhs=distinct
        ),
        neighbour(
            "whatever the validity: the uniform law on all outcomes",
            lhs=distinct,
            rhs=lambda q, k: distinct(0 * q + 1 / q.shape[-1], k),
        ),
        masses_clamped("q", 2e-3),
    ),
)
