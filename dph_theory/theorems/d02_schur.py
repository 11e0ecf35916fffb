"""D2, third claim: Schur-concavity, averaging the masses of two valid outputs never lowers the number."""

import math
from functools import partial
from typing import Any

import numpy as np
import sympy

from ..coverage import averaged
from ..numeric.balls import Values, only
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.charts import chart, example, integers, masks, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import SHARE
from ._lemmas import concavity_of_hits, distinct_with_two


def distinct_averaged(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, 1), valid, k)


def averaged_with_invalid(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct_with_two(averaged(q, share, 0, q.shape[-1] - 1), valid, k)


def averaged_apart(q: Values, valid: Values, k: Values, share: Values) -> Values:
    """The averaging undone in excess: a share beyond 1 sets the two masses further apart."""
    low = np.where(q[..., 0] < q[..., 1], q[..., 0], q[..., 1])
    place = np.arange(q.shape[-1])
    moved = (share * low * np.where(q[..., 0] < q[..., 1], 1, -1))[..., None]
    return distinct_with_two(q + only(moved, place == 1) - only(moved, place == 0), valid, k)


def derivation() -> Claims:
    # f = 1 - (1-.)^k is concave (L1.jensen): masses x, y sent to x' = (1-t)x + ty, y' = tx + (1-t)y have
    # f(x') + f(y') at least the sum of the two means of f(x) and f(y) below, strictly more unless x = y.
    yield from concavity_of_hits()
    t, x, y = sympy.symbols("t f_x f_y", real=True)
    yield Claim(
        "the two means add up to f(x) + f(y)", ((1 - t) * x + t * y) + (t * x + (1 - t) * y), equals=x + y
    )


def two_valid(k: int, mu: Scalar, apart: Scalar, share: Scalar) -> dict[str, Any]:
    q = [mu * (1 + apart) / 2, mu * (1 - apart) / 2, 1 - mu]
    return {"q": q, "valid": [True, True, False], "k": k, "share": share}


def gained(k: int, mu: Scalar, apart: Scalar, share: Scalar) -> list[Scalar]:
    # (1-m-h)^k + (1-m+h)^k = 2 sum_j C(k, 2j) (1-m)^(k-2j) h^2j, and T takes h to (1-2t) h.
    rest, h2, kept = 1 - mu / 2, (mu * apart / 2) ** 2, (1 - 2 * share) ** 2
    terms = (
        math.comb(k, 2 * j) * rest ** (k - 2 * j) * h2 ** (j - 1) * sum(kept**i for i in range(j))
        for j in range(1, k // 2 + 1)
    )
    return [2 * sum(terms)]


THEOREM = Theorem(
    name="D2.schur",
    title="A T-transform of two valid masses never lowers the expected distinct valid outputs",
    source=Source("ours", "concavity"),
    statement=r"D_k(q) \le D_k(Tq),\quad T = (1-t)\,I + t\,(y\,y') \text{ with } y, y' \in Y_1,\; k \ge 2",
    relation=Relation.AT_MOST,
    lhs=distinct_with_two,
    rhs=distinct_averaged,
    instances=chart(q=simplex(4), valid=masks(4), k=integers(2, 12), share=uniform(0.01, 0.99)),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], k=4, share=".5"),),
    symbolic=derivation,
    tight=True,
    reductions=tuple(
        Reduction(
            f"two valid outcomes of masses mu (1 +- apart)/2, one invalid, k = {k}",
            {"mu": SHARE, "apart": SHARE, "share": linear("0.01", "0.99")},
            partial(two_valid, k),
            gap=partial(gained, k),
            factor=lambda mu, apart, share: [share * (1 - share) * (mu * apart) ** 2],
        )
        for k in (2, 3, 4, 8, 12)
    ),
    false_neighbours=(
        neighbour("averaging a valid with an invalid output", rhs=averaged_with_invalid),
        neighbour("moving mass from the rarer to the likelier", rhs=averaged_apart),
        masses_clamped("q", 1e-6),
    ),
)
