"""A1, first claim: no fully valid distribution is closer to q than its invalid mass, 1 - E_q v."""

import sympy

from ..binary_reward import valid_mass
from ..divergences import TOTAL_VARIATION
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import made_valid, variation_by_excess


def missing_reward(policy: Values, valid: Values) -> Values:
    return 1 - valid_mass(policy, valid)


def distance_to_valid(policy: Values, other: Values, valid: Values) -> Values:
    return TOTAL_VARIATION(policy, made_valid(other, valid))


def derivation() -> Claims:
    # TV(q, p), half the L1 norm, is the sum of max(q - p, 0) over outcomes, as the q - p sum to zero. Where
    # p = 0, on Y0, the terms are q and add up to q(Y0) = 1 - E_q v; on Y1 they are not negative. So E_q v = 1
    # forces q(Y0) = 0, and the converse is the value 1 at every q on Y1: the maximisers are exactly the face
    # of the simplex on Y1.
    yield from variation_by_excess()
    q, p = sympy.symbols("q p", nonnegative=True)
    yield Claim("an invalid outcome's term is its mass", sympy.Max(q - p, 0).subs(p, 0), equals=q)
    yield Claim("a valid outcome's term is not negative", sympy.Max(q - p, 0), ">=0")


THEOREM = Theorem(
    name="A1.distance",
    title="1 - E_q v is at most the distance from q to any fully valid distribution",
    source=Source("dymetman2026binary", "degeneracy"),
    statement=r"1 - \mathbb{E}_q v \le \mathrm{TV}(q, p) \text{ for every } p \text{ supported on } Y_1",
    relation=Relation.AT_MOST,
    lhs=missing_reward,
    rhs=distance_to_valid,
    instances=chart(policy=simplex(4, zeros=True), other=simplex(4, zeros=True), valid=masks(4)),
    expected=Verdict.PROVED,
    symbolic=derivation,
    # Both sides agree on an open set (wherever p >= q on Y1), where balls cannot tell <= from >.
    certified=False,
    tight=True,
    false_neighbours=(
        neighbour("a distance 2% larger", lhs=scaled(missing_reward, 1.02)),
        neighbour("p not fully valid", rhs=lambda policy, other: TOTAL_VARIATION(policy, other)),
        masses_clamped("policy", 5e-10),
    ),
)
