"""B7: as alpha -> 0 the alpha-divergence to the filtered model diverges on invalid outcomes, like 1/alpha."""

import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import alpha_divergence, each
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

SHRINKING = (0.5, 0.125, 2.0**-5, 2.0**-7)
"""Values of alpha, dyadic, so that balls take them exactly."""


def to_filtered(pi: Values, base: Values, valid: Values) -> Values:
    target = filtered(base, valid)
    return each(lambda a: alpha_divergence(a)(pi, target), SHRINKING)


def from_invalid(pi: Values, valid: Values) -> Values:
    mu = valid_mass(pi, valid)
    return each(lambda a: (1 - mu ** (1 - a)) / (a * (1 - a)), SHRINKING)


def both_parts(pi: Values, base: Values, valid: Values) -> Values:
    mu, target, inside = valid_mass(pi, valid), filtered(base, valid), filtered(pi, valid)
    within = each(lambda a: mu ** (1 - a) * alpha_divergence(a)(inside, target), SHRINKING)
    return from_invalid(pi, valid) + within


def at_one_half(pi: Values, base: Values, valid: Values) -> Values:
    return trailing(alpha_divergence(0.5)(pi, filtered(base, valid)), 1)


def derivation() -> Claims:
    # D = (1 - S)/(alpha (1-alpha)) with S = sum pi^(1-alpha) p_*^alpha, a sum over Y1 only, where pi is mu
    # times its restriction: S = mu^(1-alpha) S', and S' = 1 - alpha (1-alpha) D' within Y1.
    a, mu, d = sympy.symbols("alpha mu D", positive=True)
    whole = (1 - mu ** (1 - a) * (1 - a * (1 - a) * d)) / (a * (1 - a))
    parts = (1 - mu ** (1 - a)) / (a * (1 - a)) + mu ** (1 - a) * d
    yield Claim("the two parts", whole, equals=parts, where=(a < 1,))
    # The first part is at least (1 - mu)/alpha, since mu^(1-alpha) = e^((1-alpha) log mu) lies below its
    # chord in 1 - alpha between 1 at 0 and mu at 1 (L1.jensen); the second is not negative
    # (B1.nonnegative).
    e, log_mu = 1 - a, sympy.Symbol("log_mu", real=True)
    yield Claim("mu^e is convex in e", sympy.Derivative(sympy.exp(a * log_mu), (a, 2)), ">=0")
    chord = (1 - e) + e * mu
    below = (1 - chord) / (a * e)
    yield Claim("so that the part is at least", below, equals=(1 - mu) / a, where=(a < 1,))


THEOREM = Theorem(
    name="B7.zero",
    title="alpha -> 0 diverges on invalid outcomes: D_alpha(pi || p_*) grows like (1 - mu)/alpha",
    source=Source("kruszewski2026whatever"),
    statement=r"D_{f_\alpha}(\pi\|p_*) = \frac{1 - \mu^{1-\alpha}}{\alpha(1-\alpha)}"
    r" + \mu^{1-\alpha} D_{f_\alpha}(\pi(\cdot|Y_1)\|p_*) \to \infty \text{ as } \alpha \to 0,"
    r"\quad \mu = \pi(Y_1) < 1",
    relation=Relation.EQUAL,
    lhs=to_filtered,
    rhs=both_parts,
    instances=chart(pi=simplex(4), base=simplex(4), valid=masks(4)),
    expected=Verdict.PROVED,
    given=("L1.jensen", "B1.nonnegative"),
    examples=(example(pi=".2 .3 .5", base=".3 .2 .5", valid=[True, True, False]),),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "the invalid outcomes cost nothing more",
            rhs=lambda pi, base, valid: both_parts(pi, base, valid) - from_invalid(pi, valid),
        ),
        neighbour("it stays below its value at alpha = 1/2", relation=Relation.AT_MOST, rhs=at_one_half),
        masses_clamped("base", 2e-11),
    ),
)
