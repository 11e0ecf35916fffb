"""A5, second claim: the tilted model is a mixture of the two conditionals of the base."""

import sympy

from ..binary_reward import filtered, mu_from_beta, tilted, valid_mass
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import over_two_verdicts, tilted_law, tilted_odds


def mixture(base: Values, valid: Values, beta: Values) -> Values:
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    return mu * filtered(base, valid) + (1 - mu) * filtered(base, ~valid)


def mixture_with_base(base: Values, valid: Values, beta: Values) -> Values:
    mu = trailing(mu_from_beta(valid_mass(base, valid), beta), 1)
    return mu * filtered(base, valid) + (1 - mu) * base


def derivation() -> Claims:
    # Outcome by outcome: mu a/A1 on Y1 and (1 - mu) a/A0 on Y0.
    a, A1, A0, beta = sympy.symbols("a A1 A0 beta", positive=True)
    Z = A0 + A1 * sympy.exp(1 / beta)
    mu = A1 * sympy.exp(1 / beta) / Z
    yield Claim("a valid outcome", mu * a / A1, equals=a * sympy.exp(1 / beta) / Z)
    yield Claim("an invalid outcome", (1 - mu) * a / A0, equals=a / Z)


def masses(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    # Outcomes of one verdict share its mass in the base's proportions, in both laws.
    (valid, invalid), failed = tilted_law(log_odds, gain), tilted_odds(log_odds, gain)
    mu = 1 / (1 + failed)
    return [(valid, mu), (invalid, failed * mu)]


THEOREM = Theorem(
    name="A5.mixture",
    title="p_beta = mu p_* + (1-mu) p_0",
    source=Source("dymetman2026binary", "mu-beta"),
    statement=r"p_\beta = \mu\, p_* + (1-\mu)\, p_0",
    relation=Relation.EQUAL,
    lhs=tilted,
    rhs=mixture,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    examples=(example(base=".3 .2 .1 .4", valid=[True, True, False, False], beta=".5"),),
    symbolic=derivation,
    reductions=over_two_verdicts(masses, "the masses of both verdicts, which outcomes share alike"),
    false_neighbours=(
        neighbour("a mixture of p_* with the whole base", rhs=mixture_with_base),
        masses_clamped("base", 1.9e-11),
    ),
)
