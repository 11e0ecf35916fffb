"""A6, second sense: the total variation to the filtered model is the remaining invalid mass."""

import sympy

from ..binary_reward import filtered, mu_from_beta, tilted, valid_mass
from ..divergences import TOTAL_VARIATION
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import over_two_verdicts, tilted_law, tilted_odds


def distance_to_filtered(base: Values, valid: Values, beta: Values) -> Values:
    return TOTAL_VARIATION(tilted(base, valid, beta), filtered(base, valid))


def invalid_left(base: Values, valid: Values, beta: Values) -> Values:
    return 1 - mu_from_beta(valid_mass(base, valid), beta)


def derivation() -> Claims:
    # p_b - p_* = (1-mu)(p_0 - p_*) (A5.mixture) and p_0, p_* have disjoint supports: half the L1 norm is
    # (1-mu)/2 (1 + 1). An outcome's share, with a/A1 = s on Y1 and a/A0 = s on Y0, sums s to one.
    s, odds, x = sympy.symbols("s odds x", positive=True)
    # mu = odds x/(1 + odds x), x = e^(1/beta).
    mu = odds * x / (1 + odds * x)
    invalid = 1 / (1 + odds * x)
    yield Claim("1 - mu", 1 - mu, equals=invalid)
    yield Claim("a valid outcome's share", sympy.Abs(mu * s - s), equals=invalid * s)
    yield Claim("an invalid outcome's share", sympy.Abs((1 - mu) * s), equals=invalid * s)
    yield Claim("it vanishes with beta, as it is below 1/(odds x)", 1 / (odds * x) - invalid, ">0")


def variations(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    valid, invalid = tilted_law(log_odds, gain)
    return [((1 - valid + invalid) / 2, 1 - 1 / (1 + tilted_odds(log_odds, gain)))]


THEOREM = Theorem(
    name="A6.variation",
    title="TV(p_beta, p_*) = 1 - mu",
    source=Source("dymetman2026binary", "limits"),
    statement=r"\mathrm{TV}(p_\beta, p_*) = 1 - \mu \to 0 \text{ as } \beta \to 0",
    relation=Relation.EQUAL,
    lhs=distance_to_filtered,
    rhs=invalid_left,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    given=("A5.mixture",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    reductions=over_two_verdicts(variations),
    false_neighbours=(
        neighbour("the L1 distance in place of half of it", lhs=scaled(distance_to_filtered, 2)),
        neighbour(
            "the gain in validity, mu - A1",
            rhs=lambda base, valid, beta: 1 - valid_mass(base, valid) - invalid_left(base, valid, beta),
        ),
        masses_clamped("base", 3.2e-11),
    ),
)
