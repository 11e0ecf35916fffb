"""A6, third sense: the KL from the filtered model to the tilted one is -log mu, and vanishes."""

import numpy as np
import sympy

from ..binary_reward import filtered, mu_from_beta, tilted, valid_mass
from ..divergences import FORWARD_KL
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.charts import chart, example, log_uniform, masks, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import base_of, over_two_verdicts, tilted_odds


def filtered_to_tilted(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(FORWARD_KL(tilted(base, valid, beta), filtered(base, valid)), 1)


def both_forms(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = valid_mass(base, valid), valid_mass(base, ~valid)
    surprise = -np.log(mu_from_beta(A1, beta))
    return np.stack([surprise, np.log1p(A0 / A1 * np.exp(-1 / beta))], axis=-1)


def invalid_left(base: Values, valid: Values, beta: Values) -> Values:
    return trailing(1 - mu_from_beta(valid_mass(base, valid), beta), 1)


def base_odds_exchanged(base: Values, valid: Values, beta: Values) -> Values:
    A1, A0 = valid_mass(base, valid), valid_mass(base, ~valid)
    return trailing(np.log1p(A1 / A0 * np.exp(-1 / beta)), 1)


def derivation() -> Claims:
    # On Y1 p_*/p_b = (a/A1)/(a x/Z) = 1/mu throughout, x = e^(1/b), and p_* sums to one there.
    a, A1, A0, x = sympy.symbols("a A1 A0 x", positive=True)
    mu = A1 * x / (A0 + A1 * x)
    yield Claim("the ratio on a valid outcome", (a / A1) / (a * x / (A0 + A1 * x)), equals=1 / mu)
    yield Claim("1/mu", 1 / mu, equals=1 + A0 / (A1 * x))
    # -log mu is at most 1/mu - 1 (L1.logarithm), which vanishes as x grows.
    yield Claim("1/mu - 1", 1 / mu - 1, equals=A0 / A1 / x)


def surprises(log_odds: Scalar, gain: Scalar) -> list[tuple[Scalar, Scalar]]:
    # log Z - 1/beta - log A1, and the two forms of its surprise.
    (valid, invalid), odds, less = base_of(log_odds), (-log_odds).exp(), (-gain).exp()
    divergence = (valid + invalid * less).log() + (1 + odds).log()
    return [(divergence, (1 + tilted_odds(log_odds, gain)).log()), (divergence, (1 + odds * less).log())]


THEOREM = Theorem(
    name="A6.forward",
    title="KL(p_*||p_beta) = -log mu = log(1 + (A0/A1) e^(-1/beta)), which vanishes",
    source=Source("dymetman2026binary", "limits"),
    statement=r"\mathrm{KL}(p_*\|p_\beta) = -\log\mu = \log\big(1 + \tfrac{A_0}{A_1} e^{-1/\beta}\big) \to 0"
    r" \text{ as } \beta \to 0",
    relation=Relation.EQUAL,
    lhs=filtered_to_tilted,
    rhs=both_forms,
    instances=chart(base=simplex(5), valid=masks(5), beta=log_uniform(1e-3, 1e3)),
    expected=Verdict.PROVED,
    given=("L1.logarithm",),
    examples=(example(base=".25 .75", valid=[True, False], beta=".5"),),
    symbolic=derivation,
    reductions=over_two_verdicts(surprises),
    false_neighbours=(
        neighbour("to first order, 1 - mu", rhs=invalid_left),
        neighbour("the base's odds exchanged", rhs=base_odds_exchanged),
        masses_clamped("base", 3.2e-11, "lhs"),
    ),
)
