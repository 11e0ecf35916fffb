"""A7, first claim: the Pythagorean identity of the I-projection of the base onto the valid outcomes."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import made_valid


def distance_to_base(policy: Values, base: Values, valid: Values) -> Values:
    return REVERSE_KL(made_valid(policy, valid), base)


def through_filtered(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(made_valid(policy, valid), filtered(base, valid))
    return inside - np.log(valid_mass(base, valid))


def with_sign_turned(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(made_valid(policy, valid), filtered(base, valid))
    return inside + np.log(valid_mass(base, valid))


def exchanged(policy: Values, base: Values, valid: Values) -> Values:
    inside = REVERSE_KL(filtered(base, valid), made_valid(policy, valid))
    return inside - np.log(valid_mass(base, valid))


def derivation() -> Claims:
    # p_* = a/A1 on Y1: one valid outcome of mass q, summed to one.
    q, a, A1 = sympy.symbols("q a A1", positive=True)
    term = q * sympy.log(q / a) - q * sympy.log(q / (a / A1)) + q * sympy.log(A1)
    yield Claim("a valid outcome", term)


THEOREM = Theorem(
    name="A7.pythagoras",
    title="For q on Y1, KL(q||a) = KL(q||p_*) - log A1",
    source=Source("dymetman2026binary", "I-projection"),
    statement=r"q(Y_1) = 1 \;\Rightarrow\; \mathrm{KL}(q\|a) = \mathrm{KL}(q\|p_*) - \log A_1",
    relation=Relation.EQUAL,
    lhs=distance_to_base,
    rhs=through_filtered,
    instances=chart(policy=simplex(5, zeros=True), base=simplex(5), valid=masks(5)),
    expected=Verdict.PROVED,
    examples=(example(policy=".3 .25 .45", base=".2 .1 .7", valid=[True, True, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("log A1 added", rhs=with_sign_turned),
        neighbour("the KL to p_* with its arguments exchanged", rhs=exchanged),
        neighbour("for every q", lhs=lambda policy, base: REVERSE_KL(policy, base)),
        masses_clamped("policy", 2e-11),
    ),
)
