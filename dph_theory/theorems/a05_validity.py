"""A5, first claim: the validity of the tilted model on the logit scale."""

import sympy

from ..binary_reward import mu_from_beta, tilted, valid_mass
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import over_two_verdicts, tilted_law, tilted_odds


def validity_of_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return valid_mass(tilted(base, valid, beta), valid)


def validity_from_logit(base: Values, valid: Values, beta: Values) -> Values:
    return mu_from_beta(valid_mass(base, valid), beta)


def derivation() -> Claims:
    # With x = e^(1/beta); 1/odds are the odds of the base rate.
    odds, x = sympy.symbols("odds x", positive=True)
    A1, A0 = 1 / (1 + odds), odds / (1 + odds)
    mu = A1 * x / (A0 + A1 * x)
    yield Claim("odds of the tilted model", mu / (1 - mu), equals=A1 / A0 * x)
    yield Claim("its logit", sympy.log(A1 / A0 * x), equals=sympy.log(A1 / A0) + sympy.log(x))


def validities(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    return [(tilted_law(log_odds, gain)[0], 1 / (1 + tilted_odds(log_odds, gain)))]


THEOREM = Theorem(
    name="A5.validity",
    title="The tilted model's validity: logit mu = logit A1 + 1/beta",
    source=Source("dymetman2026binary", "mu-beta"),
    statement=r"\operatorname{logit} p_\beta(Y_1) = \operatorname{logit} A_1 + 1/\beta",
    relation=Relation.EQUAL,
    lhs=validity_of_tilted,
    rhs=validity_from_logit,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    reductions=over_two_verdicts(validities),
    false_neighbours=(
        neighbour(
            "first-order gain, mu = A1 (1 + 1/beta)",
            rhs=lambda base, valid, beta: valid_mass(base, valid) * (1 + 1 / beta),
        ),
        neighbour("half the gain", rhs=lambda base, valid, beta: validity_from_logit(base, valid, 2 * beta)),
        near(0.01, beta=(4.3, 0.02)),
    ),
)
