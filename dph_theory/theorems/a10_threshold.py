"""A10, eighth claim: each law has one alpha in (0, 1) above which, and only there, it beats the Dirac."""

import numpy as np
import sympy

from ..binary_reward import filtered
from ..divergences import alpha_divergence
from ..numeric.balls import Values, highest, normalised
from ..references import Source
from ..statement.charts import chart, example, log_uniform
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import TWO_OF_FOUR, law_to_filtered

ALPHAS = (0.125, 0.5, 0.875)
"""Binary fractions, which floats and balls hold exactly."""


def scaled_lead(q: Values, base: Values, alpha: float) -> Values:
    """How much nearer to p_* the law is than the Dirac on its mode, times (1-alpha) max(p_*)^-alpha."""
    log_mode = np.log(highest(filtered(normalised(base), TWO_OF_FOUR)))
    distance_of_dirac = -np.expm1(alpha * log_mode) / (alpha * (1 - alpha))
    nearer = distance_of_dirac - law_to_filtered(q, base, alpha_divergence(alpha))
    return (1 - alpha) * np.exp(-alpha * log_mode) * nearer


def at_smaller_alpha(q: Values, base: Values) -> Values:
    return np.stack([scaled_lead(q, base, alpha) for alpha in ALPHAS[:-1]], axis=-1)


def at_larger_alpha(q: Values, base: Values) -> Values:
    return np.stack([scaled_lead(q, base, alpha) for alpha in ALPHAS[1:]], axis=-1)


def derivation() -> Claims:
    # Each outcome gives D_{f_alpha}(q||p) the term below; summed over outcomes, D = (1 - S)/(alpha(1-alpha))
    # with S = sum_{Y1} p^alpha q^(1-alpha). The Dirac has S = max(p)^alpha. So the scaled lead is
    # (sum_{Y1} q z - 1)/alpha with z = s^alpha, s = p/(q max p), that is,
    # sum_{Y1} q (s^alpha - 1)/alpha - (1 - q(Y1))/alpha, of which every term rises with alpha.
    p, q, s, alpha, z = sympy.symbols("p q s alpha z", positive=True)
    u = q / p
    generator = (u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))
    term = (p**alpha * q ** (1 - alpha) - (1 - alpha) * q - alpha * p) / (alpha * (alpha - 1))
    yield Claim("one outcome's term", p * generator, equals=term, where=(alpha < 1,))
    slope = alpha**2 * sympy.Derivative((s**alpha - 1) / alpha, alpha)
    yield Claim("slope of a valid term", slope, equals=alpha * s**alpha * sympy.log(s) - s**alpha + 1)
    # Not negative, by L1.logarithm, and zero at s = 1 only.
    at_z = z * sympy.log(z) - z + 1
    yield Claim("is z (log z - 1 + 1/z) at z = s^alpha", at_z, equals=z * (sympy.log(z) - 1 + 1 / z))
    yield Claim("slope of the invalid term, per mass", sympy.Derivative(-1 / alpha, alpha), ">0")


THEOREM = Theorem(
    name="A10.threshold",
    title="The law's scaled lead over the Dirac in alpha-divergence to p_* strictly increases with alpha",
    source=Source("ours", "convexity in alpha"),
    statement=r"\alpha \mapsto \frac{1-\alpha}{\max p_*^{\,\alpha}}\,[\min_y D_{f_\alpha}(\delta_y\|p_*)"
    r" - D_{f_\alpha}(q\|p_*)] \text{ is strictly increasing on } (0,1)",
    relation=Relation.AT_MOST,
    lhs=at_smaller_alpha,
    rhs=at_larger_alpha,
    instances=chart(q=log_uniform(1e-3, 1, 4), base=log_uniform(1e-3, 1, 4)),
    expected=Verdict.PROVED,
    given=("L1.logarithm", "L1.rising"),
    examples=(example(q=".3 .3 .2 .2", base=".3 .2 .1 .4"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("decreasing with alpha", lhs=at_larger_alpha, rhs=at_smaller_alpha),
        neighbour(
            "concave: half way from 1/8 to 7/8 more than half is gained",
            lhs=lambda q, base: (scaled_lead(q, base, 0.125) + scaled_lead(q, base, 0.875)) / 2,
            rhs=lambda q, base: scaled_lead(q, base, 0.5),
        ),
        neighbour("a left side 5% larger", lhs=scaled(at_smaller_alpha, 1.05)),
    ),
)
