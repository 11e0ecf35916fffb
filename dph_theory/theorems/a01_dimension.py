"""A1, third claim: the maximisers of E_q v form a simplex of dimension |Y1| - 1."""

import numpy as np

from ..binary_reward import filtered
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled

RANK_TOLERANCE = 1e-9
"""The matrices' entries are of order one and their non-zero singular values at least about 0.1."""


def spanned_and_left_free(base: Values, valid: Values) -> Values:
    """The dimension spanned by maximisers around a random one, and the one that the constraints leave."""
    outcomes = valid.shape[-1]
    centre = filtered(base, valid)[:, None, :]
    vertices = np.eye(outcomes)
    # Half-way from the centre to each valid vertex: maximisers too. Invalid rows are zeroed.
    steps = np.where(trailing(valid, 1), (centre + vertices) / 2 - centre, 0.0)
    # A direction stays among the maximisers iff it sums to zero and vanishes on Y0.
    constraints = np.where(trailing(~valid, 1), vertices, 0.0)
    constraints = np.concatenate([constraints, np.ones((len(valid), 1, outcomes))], axis=1)
    return np.stack([_rank(steps), outcomes - _rank(constraints)], axis=-1)


def _rank(matrices: Values) -> Values:
    return np.linalg.matrix_rank(matrices, tol=RANK_TOLERANCE).astype(float)


def size_less_one(valid: Values) -> Values:
    return (valid.sum(axis=-1, keepdims=True) - 1).astype(float)


THEOREM = Theorem(
    name="A1.dimension",
    title="The maximisers of E_q v form a simplex of dimension |Y1| - 1",
    source=Source("dymetman2026binary", "degeneracy"),
    statement=r"\dim \operatorname*{argmax}_q \mathbb{E}_q v = |Y_1| - 1",
    relation=Relation.EQUAL,
    lhs=spanned_and_left_free,
    rhs=size_less_one,
    instances=chart(base=simplex(4), valid=masks(4)),
    expected=Verdict.HOLDS,
    certified=False,
    false_neighbours=(
        neighbour("a distinguished maximiser: dimension 0", rhs=scaled(size_less_one, 0)),
        neighbour("normalisation forgotten: dimension |Y1|", rhs=lambda valid: size_less_one(valid) + 1),
        near(0.01, base=(0.25, 5e-05)),
    ),
)
