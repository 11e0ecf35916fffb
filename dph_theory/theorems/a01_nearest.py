"""A1, second claim: that distance is attained, and by no distinguished distribution on Y1."""

import numpy as np
import sympy

from ..binary_reward import valid_mass
from ..divergences import TOTAL_VARIATION
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import made_valid, variation_by_excess


def missing_reward(policy: Values, valid: Values) -> Values:
    return 1 - valid_mass(policy, valid)


def distance_to_completed(policy: Values, other: Values, valid: Values) -> Values:
    """The distance to q on Y1 with q's invalid mass handed out as `other` shares it, in any way."""
    kept = np.where(valid, policy, 0 * policy)
    invalid = trailing(valid_mass(policy, ~valid), 1)
    return TOTAL_VARIATION(policy, kept + invalid * made_valid(other, valid))


def distance_to_one(policy: Values, other: Values, valid: Values) -> Values:
    return TOTAL_VARIATION(policy, made_valid(other, valid))


def derivation() -> Claims:
    # TV is the sum of max(q - p, 0). On Y1, p = q + q(Y0) w >= q gives no term; on Y0, p = 0 gives q. No p on
    # Y1 is nearer (A1.distance). At q(Y0) = 0 the completion is q itself: every q on Y1 has the value 1.
    yield from variation_by_excess()
    q, p, invalid, share = sympy.symbols("q p invalid share", nonnegative=True)
    completed = q + invalid * share
    yield Claim("a valid outcome's term is zero, as p >= q", completed - q, ">=0")
    yield Claim("so that the excess is", sympy.Max(q - p, 0), where=(p >= q,))
    yield Claim("an invalid outcome's term is its mass", sympy.Max(q - p, 0).subs(p, 0), equals=q)


THEOREM = Theorem(
    name="A1.nearest",
    title="1 - E_q v is the distance from q to the fully valid distributions, attained by a whole set",
    source=Source("dymetman2026binary", "degeneracy"),
    statement=r"1 - \mathbb{E}_q v = \mathrm{TV}\big(q,\; q 1_{Y_1} + q(Y_0)\, w\big)"
    r" \text{ for every } w \text{ on } Y_1: \quad"
    r" \operatorname*{argmax}_q \mathbb{E}_q v = \{q : q(Y_1) = 1\}",
    relation=Relation.EQUAL,
    lhs=missing_reward,
    rhs=distance_to_completed,
    instances=chart(policy=simplex(4, zeros=True), other=simplex(4, zeros=True), valid=masks(4)),
    expected=Verdict.PROVED,
    given=("A1.distance",),
    # The policy is fully valid: value 1, at distance zero from the face.
    examples=(example(policy=".7 .3 0", other=".2 .6 .2", valid=[True, True, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("a distinguished maximiser: one p on Y1 is the nearest to every q", rhs=distance_to_one),
        neighbour("the L1 distance in place of half of it", rhs=scaled(distance_to_completed, 2)),
        near(0.01, policy=(0.23, 0.0002)),
    ),
)
