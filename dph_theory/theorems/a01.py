"""A1. Degeneracy: a simplex of best policies.

A binary reward scores all correct answers equally: every policy that never errs is optimal. They form a
simplex, without a distinguished element, and what a policy falls short of the optimum is its distance to
that simplex.
"""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import TOTAL_VARIATION
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import Claim, FalseStep, Kernel, Steps, holds, neighbour, proved, scaled
from ._lemmas import made_valid, variation_by_excess


def missing_reward(policy: Values, valid: Values) -> Values:
    return 1 - valid_mass(policy, valid)


def distance_to_valid(policy: Values, other: Values, valid: Values) -> Values:
    return TOTAL_VARIATION(policy, made_valid(other, valid))


def distance_steps() -> Steps:
    yield (
        "TV(q, p), half the L1 norm, is the sum of max(q - p, 0) over outcomes, as the q - p sum to zero. "
        "Where p = 0, on Y0, the terms are q and add up to q(Y0) = 1 - E_q v; on Y1 they are not negative. "
        "So E_q v = 1 forces q(Y0) = 0, and the converse is the value 1 at every q on Y1: the maximisers are "
        "exactly the face of the simplex on Y1."
    )
    yield from variation_by_excess()
    q, p = sympy.symbols("q p", nonnegative=True)
    yield Claim("an invalid outcome's term is its mass", sympy.Subs(sympy.Max(q - p, 0), p, 0), equals=q)
    yield Claim("a valid outcome's term is not negative", sympy.Max(q - p, 0), ">=0")
    yield FalseStep("without the maximum", q - p, ">=0")


DISTANCE = proved(
    "A1.distance",
    "1 - E_q v is at most the distance from q to any fully valid distribution",
    statement=r"1 - \mathbb{E}_q v \le \mathrm{TV}(q, p) \text{ for every } p \text{ supported on } Y_1",
    source=Source("dymetman2026binary", "degeneracy"),
    on=chart(policy=simplex(4, zeros=True), other=simplex(4, zeros=True), valid=masks(4)),
    at_most=(missing_reward, distance_to_valid),
    kernel=Kernel("degeneracy", where=lambda other, valid: {"other": made_valid(other, valid)}),
    derivation=distance_steps,
    # Both sides agree on an open set (wherever p >= q on Y1), where balls cannot tell <= from >.
    certified=False,
    tight=example(policy=".999 .001 0 0", other="0 .999994 6e-6 0", valid=[True, False, True, False]),
    false=(
        neighbour(
            "a distance 2% larger",
            at=example(
                policy=".9985 .0005 .0005 .0005", other=".2 .4 .2 .2", valid=[True, False, False, False]
            ),
            lhs=scaled(missing_reward, 1.02),
        ),
        neighbour(
            "p not fully valid",
            at=example(policy="0 0 0 1", other="0 0 0 1", valid=[True, True, True, False]),
            rhs=lambda policy, other: TOTAL_VARIATION(policy, other),
        ),
    ),
)


def distance_to_completed(policy: Values, other: Values, valid: Values) -> Values:
    """The distance to q on Y1 with q's invalid mass handed out as `other` shares it, in any way."""
    kept = np.where(valid, policy, 0 * policy)
    invalid = trailing(valid_mass(policy, ~valid), 1)
    return TOTAL_VARIATION(policy, kept + invalid * made_valid(other, valid))


def distance_to_one(policy: Values, other: Values, valid: Values) -> Values:
    return TOTAL_VARIATION(policy, made_valid(other, valid))


def nearest_steps() -> Steps:
    yield (
        "TV is the sum of max(q - p, 0). On Y1, p = q + q(Y0) w >= q gives no term; on Y0, p = 0 gives q. No "
        "p on Y1 is nearer (A1.distance). At q(Y0) = 0 the completion is q itself: every q on Y1 has the "
        "value 1."
    )
    yield from variation_by_excess()
    q, p, invalid, share = sympy.symbols("q p invalid share", nonnegative=True)
    completed = q + invalid * share
    yield Claim("a valid outcome's term is zero, as p >= q", completed - q, ">=0")
    yield FalseStep("with mass taken off", q * (1 - invalid) - q, ">=0")
    yield Claim("so that the excess is", sympy.Max(q - p, 0), where=(p >= q,))
    yield Claim("an invalid outcome's term is its mass", sympy.Subs(sympy.Max(q - p, 0), p, 0), equals=q)


NEAREST = proved(
    "A1.nearest",
    "1 - E_q v is the distance from q to the fully valid distributions, attained by a whole set",
    statement=r"1 - \mathbb{E}_q v = \mathrm{TV}\big(q,\; q 1_{Y_1} + q(Y_0)\, w\big)"
    r" \text{ for every } w \text{ on } Y_1: \quad"
    r" \operatorname*{argmax}_q \mathbb{E}_q v = \{q : q(Y_1) = 1\}",
    source=Source("dymetman2026binary", "degeneracy"),
    on=chart(policy=simplex(4, zeros=True), other=simplex(4, zeros=True), valid=masks(4)),
    equal=(missing_reward, distance_to_completed),
    given=("A1.distance",),
    # The policy is fully valid: value 1, at distance zero from the face.
    examples=(example(policy=".7 .3 0", other=".2 .6 .2", valid=[True, True, False]),),
    kernel=Kernel("degeneracy_attained", where=lambda other, valid: {"share": made_valid(other, valid)}),
    derivation=nearest_steps,
    false=(
        neighbour("a distinguished maximiser: one p on Y1 is the nearest to every q", rhs=distance_to_one),
        neighbour(
            "the L1 distance in place of half of it",
            at=example(policy=".499397 .5 3e-6 .0006", other=".2 .5 0 .3", valid=[True, True, True, False]),
            rhs=scaled(distance_to_completed, 2),
        ),
    ),
)


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


DIMENSION = holds(
    "A1.dimension",
    "The maximisers of E_q v form a simplex of dimension |Y1| - 1",
    statement=r"\dim \operatorname*{argmax}_q \mathbb{E}_q v = |Y_1| - 1",
    source=Source("dymetman2026binary", "degeneracy"),
    on=chart(base=simplex(4), valid=masks(4)),
    equal=(spanned_and_left_free, size_less_one),
    certified=False,
    false=(
        neighbour(
            "a distinguished maximiser: dimension 0",
            at=example(base=".2 .2 .4 .2", valid=[True, True, False, False]),
            rhs=scaled(size_less_one, 0),
        ),
        neighbour(
            "normalisation forgotten: dimension |Y1|",
            at=example(base=".3 .1 .4 .2", valid=[True, False, False, False]),
            rhs=lambda valid: size_less_one(valid) + 1,
        ),
    ),
)
