"""B8: what decides between the two forms: the variance gap, outcome by outcome."""

import numpy as np
import sympy

from ..divergences import COMPARED, each
from ..estimators import definition_form, generator_form
from ..fdivergence import FDivergence
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import definition_variance, generator_variance


def generator_side(pi: Values, ref: Values) -> Values:
    # The negative part of the gap is moved over to this side, so that no two large terms cancel.
    return each(lambda d: generator_form(d, pi, ref).variance + squares(d, pi, ref, ref / pi), COMPARED)


def definition_side(pi: Values, ref: Values) -> Values:
    return each(lambda d: definition_form(d, pi, ref).variance + squares(d, pi, ref, 0 * pi + 1), COMPARED)


def squares(divergence: FDivergence, pi: Values, ref: Values, weight: Values) -> Values:
    """E_ref[weight f(u)^2] in the gauge f'(1) = 0."""
    u = pi / ref
    normalised = divergence.generator(u) - divergence.generator_derivative(0 * u + 1) * (u - 1)
    return (ref * weight * np.square(normalised)).sum(axis=-1)


def derivation() -> Claims:
    # Both forms have the mean D_f (B8.mean), so the variances differ as the second moments: E_ref[f^2]
    # against E_pi[(f/u)^2], where pi = u ref.
    ref, u = sympy.symbols("ref u", positive=True)
    f = sympy.Symbol("f", real=True)
    yield Claim("termwise", ref * f**2 - (u * ref) * (f / u) ** 2, equals=ref * (1 - 1 / u) * f**2)


THEOREM = Theorem(
    name="B8.gap",
    title="Outcomes that gained mass give the generator form more variance, those that lost mass less",
    source=Source("ours"),
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] - \mathrm{Var}_\pi[f(u)/u] = E_{ref}[(1 - 1/u) f(u)^2],"
    r"\quad f'(1) = 0",
    relation=Relation.EQUAL,
    lhs=generator_side,
    rhs=definition_side,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("B8.mean",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "the variances are equal, as the means are", lhs=generator_variance, rhs=definition_variance
        ),
        neighbour("the weight 1/u forgotten", lhs=generator_variance, rhs=definition_side),
        masses_clamped("ref", 2e-11),
    ),
)
