"""B1: each named divergence is its textbook definition; the Jensen-Shannon one is twice the divergence."""

import numpy as np
import sympy

from ..divergences import (
    ALPHAS,
    CHI_SQUARED,
    FORWARD_KL,
    HELLINGER,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    TOTAL_VARIATION,
    alpha_divergence,
    each,
)
from ..fdivergence import FDivergence, u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

NAMED = (
    FORWARD_KL,
    REVERSE_KL,
    JENSEN_SHANNON,
    HELLINGER,
    CHI_SQUARED,
    NEYMAN_CHI_SQUARED,
    TOTAL_VARIATION,
    *map(alpha_divergence, ALPHAS),
)


def declared(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), NAMED)


def kl(p: Values, q: Values) -> Values:
    return (p * np.log(p / q)).sum(axis=-1)


def textbook(pi: Values, ref: Values) -> Values:
    middle = (pi + ref) / 2
    known = (
        kl(ref, pi),
        kl(pi, ref),
        kl(pi, middle) + kl(ref, middle),
        np.square(np.sqrt(pi) - np.sqrt(ref)).sum(axis=-1),
        (np.square(pi - ref) / ref).sum(axis=-1),
        (np.square(pi - ref) / pi).sum(axis=-1),
        abs(pi - ref).sum(axis=-1) / 2,
    )
    powers = [(1 - (pi ** (1 - a) * ref**a).sum(axis=-1)) / (a * (1 - a)) for a in ALPHAS]
    return np.stack([*known, *powers], axis=-1)


def directions_exchanged(pi: Values, ref: Values) -> Values:
    return textbook(ref, pi)


def jensen_shannon_itself(pi: Values, ref: Values) -> Values:
    middle = (pi + ref) / 2
    return (kl(pi, middle) + kl(ref, middle)) / 2


def derivation() -> Claims:
    # Term by term, up to a multiple of pi - ref, which sums to zero.
    p, q = sympy.symbols("p q", positive=True)
    m = (p + q) / 2

    def declared_term(divergence: FDivergence) -> sympy.Expr:
        return q * divergence.expression.subs(u, p / q)

    terms = {
        FORWARD_KL: q * sympy.log(q / p),
        REVERSE_KL: p * sympy.log(p / q),
        JENSEN_SHANNON: p * sympy.log(p / m) + q * sympy.log(q / m),
        HELLINGER: (sympy.sqrt(p) - sympy.sqrt(q)) ** 2,
        CHI_SQUARED: (p - q) ** 2 / q,
        NEYMAN_CHI_SQUARED: (p - q) ** 2 / p,
        TOTAL_VARIATION: sympy.Abs(p - q) / 2,
    }
    for divergence, term in terms.items():
        yield Claim(divergence.name, declared_term(divergence) - term)
    for alpha in ALPHAS:
        a = sympy.Rational(alpha)
        term = ((1 - a) * p + a * q - p ** (1 - a) * q**a) / (a * (1 - a))
        yield Claim(f"alpha = {a}", declared_term(alpha_divergence(alpha)) - term)


THEOREM = Theorem(
    name="B1.textbook",
    title="The generators give KL both ways, KL to the mixture twice, and the alpha closed form",
    source=Source("li2025choice", "generators"),
    statement=r"E_{ref}[-\log u] = \mathrm{KL}(\pi_{ref}\|\pi),\;"
    r" E_{ref}[u\log u] = \mathrm{KL}(\pi\|\pi_{ref}),\;"
    r" E_{ref}[f_{JS}(u)] = \mathrm{KL}(\pi\|m) + \mathrm{KL}(\pi_{ref}\|m) = 2\,\mathrm{JS},"
    r"\; D_\alpha = \tfrac{1 - \sum \pi^{1-\alpha}\pi_{ref}^{\alpha}}{\alpha(1-\alpha)}",
    relation=Relation.EQUAL,
    lhs=declared,
    rhs=textbook,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("directions exchanged", rhs=directions_exchanged),
        neighbour(
            "the Jensen-Shannon divergence once, not twice", lhs=JENSEN_SHANNON, rhs=jensen_shannon_itself
        ),
        masses_clamped("ref", 2e-11),
    ),
)
