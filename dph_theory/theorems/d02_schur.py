"""D2, third claim: Schur-concavity, averaging the masses of two valid outputs never lowers the number."""

import numpy as np

from ..coverage import averaged, expected_distinct_valid
from ..numeric.balls import Values, only
from ..references import Source
from ..statement.charts import chart, example, integers, masks, simplex, uniform
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import concavity_of_hits

# concavity: with f = 1 - (1-.)^k concave and masses x, y sent to x' = (1-t)x + ty, y' = tx + (1-t)y,
# f(x') + f(y') >= (1-t)f(x) + tf(y) + tf(x) + (1-t)f(y) = f(x) + f(y), strictly unless x = y.


def distinct(q: Values, valid: Values, k: Values) -> Values:
    """Expected distinct valid outputs, where the first two outcomes are valid whatever the mask says."""
    return expected_distinct_valid(q, valid | (np.arange(q.shape[-1]) < 2), k)


def distinct_averaged(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct(averaged(q, share, 0, 1), valid, k)


def averaged_with_invalid(q: Values, valid: Values, k: Values, share: Values) -> Values:
    return distinct(averaged(q, share, 0, q.shape[-1] - 1), valid, k)


def averaged_apart(q: Values, valid: Values, k: Values, share: Values) -> Values:
    """The averaging undone in excess: a share beyond 1 sets the two masses further apart."""
    low = np.where(q[..., 0] < q[..., 1], q[..., 0], q[..., 1])
    place = np.arange(q.shape[-1])
    moved = (share * low * np.where(q[..., 0] < q[..., 1], 1, -1))[..., None]
    return distinct(q + only(moved, place == 1) - only(moved, place == 0), valid, k)


THEOREM = Theorem(
    name="D2.schur",
    title="A T-transform of two valid masses never lowers the expected distinct valid outputs",
    source=Source("ours", "concavity"),
    statement=r"D_k(q) \le D_k(Tq),\quad T = (1-t)\,I + t\,(y\,y') \text{ with } y, y' \in Y_1,\; k \ge 2",
    relation=Relation.AT_MOST,
    lhs=distinct,
    rhs=distinct_averaged,
    instances=chart(q=simplex(4), valid=masks(4), k=integers(2, 12), share=uniform(0.01, 0.99)),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(q=".48 .32 .1 .1", valid=[True, True, False, False], k=4, share=".5"),),
    symbolic=concavity_of_hits,
    tight=True,
    false_neighbours=(
        neighbour("averaging a valid with an invalid output", rhs=averaged_with_invalid),
        neighbour("moving mass from the rarer to the likelier", rhs=averaged_apart),
        near(-0.01, share=(0.61, 0.0006)),
    ),
)
