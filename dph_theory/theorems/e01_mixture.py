"""E1, first claim: among laws of one validity, a mixture of p_* and p_0 costs what the validities cost."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import SMOOTH, each
from ..numeric.balls import Values, normalised, only, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, rates, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def of_answers(base: Values, valid: Values, mu: Values) -> Values:
    return _mixed(base, valid, mu, filtered(base, valid))


def _mixed(base: Values, valid: Values, mu: Values, inside: Values) -> Values:
    mu = trailing(mu, 1)
    law = mu * inside + (1 - mu) * filtered(base, ~valid)
    return each(lambda divergence: divergence(law, base), SMOOTH)


def of_verdicts(base: Values, valid: Values, mu: Values) -> Values:
    masses = valid_mass(base, valid), valid_mass(base, ~valid)
    two = np.stack([mu, 1 - mu], axis=-1), np.stack(masses, axis=-1)
    return each(lambda divergence: divergence(*two), SMOOTH)


def uniform_inside(base: Values, valid: Values, mu: Values) -> Values:
    return _mixed(base, valid, mu, normalised(only(1 + 0 * base, valid)))


def derivation() -> Claims:
    # On Y1 the ratio to the base is mu/A1 at every answer; summed over Y1, a gives A1. Y0 is alike.
    a, A1, mu = sympy.symbols("a A1 mu", positive=True)
    f = sympy.Function("f")
    yield Claim("one valid answer, any f", a * f((mu * a / A1) / a), equals=a * f(mu / A1))


THEOREM = Theorem(
    name="E1.mixture",
    title="D_f(mu p_* + (1-mu) p_0 || a) is the divergence of the validities alone, for every f",
    source=Source("ours", "laws of training"),
    statement=r"D_f(\mu p_* + (1-\mu) p_0 \,\|\, a) = A_1 f(\mu/A_1) + A_0 f((1-\mu)/A_0)",
    relation=Relation.EQUAL,
    lhs=of_answers,
    rhs=of_verdicts,
    instances=chart(base=simplex(4), valid=masks(4), mu=rates()),
    expected=Verdict.PROVED,
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, False, False], mu=".7"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("uniform on the valid answers", lhs=uniform_inside),
        near(0.01, mu=(0.53, 0.0003)),
    ),
)
