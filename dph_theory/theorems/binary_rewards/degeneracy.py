"""Degeneracy: a simplex of best policies.

A binary reward scores all correct answers equally: every policy that never errs is optimal. They form a
simplex, without a distinguished element, and what a policy falls short of the optimum is its distance to
that simplex.
"""

import numpy as np

from ...binary_reward import filtered, pass_rate
from ...divergences import TOTAL_VARIATION
from ...numeric.elementary import Values, add_axes, masked
from ...references import Source
from ...verification.charts import chart, example, masks, simplex
from ...verification.statement import neighbour, scaled, theorem
from .._policies import FOUR_ANSWERS, moved_onto_valid

PAIRS = chart(policy=simplex(4, zeros=True), other=simplex(4, zeros=True), valid=masks(4))
"""Two policies, with masses of exactly zero among them, and a verifier."""


def missing_reward(policy: Values, valid: Values) -> Values:
    return 1 - pass_rate(policy, valid)


def distance_to_valid(policy: Values, other: Values, valid: Values) -> Values:
    return TOTAL_VARIATION(policy, moved_onto_valid(other, valid))


DISTANCE = theorem(
    "1 - E_q v is at most the distance from q to any fully valid distribution",
    statement=r"1 - \mathbb{E}_q v \le \mathrm{TV}(q, p) \text{ for every } p \text{ supported on } Y_1",
    source=Source("dymetman2026binary", "degeneracy", figure="implicit_bias"),
    on=PAIRS,
    at_most=(missing_reward, distance_to_valid),
    coq="degeneracy",
    examples=(FOUR_ANSWERS.giving(value=".45"),),
    false=(
        neighbour(
            "p not fully valid",
            at=example(policy="0 0 0 1", other="0 0 0 1", valid=[True, True, True, False]),
            rhs=lambda policy, other: TOTAL_VARIATION(policy, other),
        ),
    ),
)


def distance_to_completed(policy: Values, other: Values, valid: Values) -> Values:
    """TV distance (batch,) to the policy whose incorrect answers' mass is moved to `other`'s correct ones."""
    invalid = add_axes(pass_rate(policy, ~valid), 1)
    return TOTAL_VARIATION(policy, masked(policy, valid) + invalid * moved_onto_valid(other, valid))


NEAREST = theorem(
    "1 - E_q v is the distance from q to each valid distribution that completes it, whichever that is",
    statement=r"1 - \mathbb{E}_q v = \mathrm{TV}\big(q,\; q 1_{Y_1} + q(Y_0)\, w\big)"
    r" \text{ for every distribution } w \text{ on } Y_1",
    source=Source("dymetman2026binary", "degeneracy", figure="implicit_bias"),
    on=PAIRS,
    equal=(missing_reward, distance_to_completed),
    examples=(FOUR_ANSWERS.giving(value=".45"),),
    coq="degeneracy_attained",
    false=(
        neighbour(
            "a distinguished maximiser: one p on Y1 is the nearest to every q",
            at=FOUR_ANSWERS.but(policy=".7 .3 0 0", other=".2 .6 .1 .1"),
            rhs=distance_to_valid,
        ),
        neighbour(
            "the L1 distance in place of half of it",
            at=example(policy=".499397 .5 3e-6 .0006", other=".2 .5 0 .3", valid=[True, True, True, False]),
            rhs=scaled(distance_to_completed, 2),
        ),
    ),
)


RANK_TOLERANCE = 1e-9
"""The matrices' entries are of order one and their non-zero singular values at least about 0.1."""


def dimensions(base: Values, valid: Values) -> Values:
    """Dimension spanned by maximisers around p_*, and dimension that their constraints leave; (batch, 2)."""
    outcomes = valid.shape[-1]
    centre = filtered(base, valid)[:, None, :]
    vertices = np.eye(outcomes)
    # Half-way from the centre to each valid vertex: maximisers too. Invalid rows are zeroed.
    steps = np.where(add_axes(valid, 1), (centre + vertices) / 2 - centre, 0.0)
    # A direction stays among the maximisers iff it sums to zero and vanishes on Y0.
    constraints = np.where(add_axes(~valid, 1), vertices, 0.0)
    constraints = np.concatenate([constraints, np.ones((len(valid), 1, outcomes))], axis=1)
    return np.stack([_rank(steps), outcomes - _rank(constraints)], axis=-1)


def _rank(matrices: Values) -> Values:
    return np.linalg.matrix_rank(matrices, tol=RANK_TOLERANCE).astype(float)


def size_less_one(valid: Values) -> Values:
    return (valid.sum(axis=-1, keepdims=True) - 1).astype(float)


DIMENSION = theorem(
    "The maximisers of E_q v form a simplex of dimension |Y1| - 1",
    statement=r"\dim \operatorname*{argmax}_q \mathbb{E}_q v = |Y_1| - 1",
    source=Source("dymetman2026binary", "degeneracy", figure="implicit_bias"),
    on=chart(base=simplex(4), valid=masks(4)),
    equal=(dimensions, size_less_one),
    false=(
        neighbour(
            "a distinguished maximiser: dimension 0",
            at=example(base=".2 .2 .4 .2", valid=[True, True, False, False]),
            rhs=scaled(size_less_one, 0),
        ),
    ),
)
