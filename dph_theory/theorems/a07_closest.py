"""A7, second claim: the filtered model is the unique fully valid distribution closest to the base."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import REVERSE_KL, TOTAL_VARIATION
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import made_valid

VALID = np.array([True, True, True, False])
"""Outcomes can be renamed and invalid ones merged; one valid outcome alone would leave no other q on Y1."""


def margin(policy: Values, base: Values) -> Values:
    return 2 * np.square(TOTAL_VARIATION(made_valid(policy, VALID), filtered(base, VALID)))


def farther_than_least(policy: Values, base: Values) -> Values:
    return REVERSE_KL(made_valid(policy, VALID), base) + np.log(valid_mass(base, VALID))


def any_farther_than_least(policy: Values, base: Values) -> Values:
    return REVERSE_KL(policy, base) + np.log(valid_mass(base, VALID))


def margin_around_uniform(policy: Values, base: Values) -> Values:
    even = filtered(1 / (4 + 0 * base), VALID)
    return 2 * np.square(TOTAL_VARIATION(made_valid(policy, VALID), even))


def derivation() -> Claims:
    # KL(q||a) = KL(q||p_*) - log A1 for q on Y1 (A7.pythagoras), so that this is Pinsker's inequality. At q
    # = p_* the distance is -log A1, since p_*/a = 1/A1 on Y1.
    a, A1 = sympy.symbols("a A1", positive=True)
    yield Claim("the distance of p_*", sympy.log((a / A1) / a), equals=-sympy.log(A1))


THEOREM = Theorem(
    name="A7.closest",
    title="p_* is the unique fully valid distribution closest to a, at distance -log A1",
    source=Source("dymetman2026binary", "I-projection"),
    statement=r"q(Y_1) = 1 \;\Rightarrow\; 2\,\mathrm{TV}(q, p_*)^2 \le \mathrm{KL}(q\|a) + \log A_1, \quad"
    r" \mathrm{KL}(p_*\|a) = -\log A_1",
    relation=Relation.AT_MOST,
    lhs=margin,
    rhs=farther_than_least,
    instances=chart(policy=simplex(4, zeros=True), base=simplex(4)),
    expected=Verdict.PROVED,
    given=("A7.pythagoras", "B4.kl"),
    examples=(example(policy=".3 .25 .25 .2", base=".15 .1 .45 .3"),),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("a margin 2% larger", lhs=scaled(margin, 1.02)),
        neighbour("the closest is uniform on Y1", lhs=margin_around_uniform),
        neighbour("for every q", rhs=any_farther_than_least),
    ),
)
