"""B1: exchanging the arguments exchanges the generator, f_reversed(u) = u f(1/u)."""

import sympy

from ..divergences import ALPHAS, SMOOTH, alpha_divergence, alpha_generator, each
from ..fdivergence import u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import EVERY


def forwards(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), EVERY)


def backwards(pi: Values, ref: Values) -> Values:
    # The reversed declaration, its generator evaluated as declared under samples from the policy.
    return each(lambda d: (pi * d.reversed.generator(ref / pi)).sum(axis=-1), EVERY)


def same_alpha(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(ref, pi), tuple(map(alpha_divergence, ALPHAS)))


def derivation() -> Claims:
    for divergence in SMOOTH:
        exchanged = u * divergence.expression.subs(u, 1 / u)
        yield Claim(divergence.name, exchanged - divergence.reversed.expression)
    s = sympy.Symbol("s", positive=True)
    yield Claim("total_variation", s * sympy.Abs(1 / s - 1) / 2 - sympy.Abs(s - 1) / 2)
    alpha = sympy.Symbol("alpha", real=True)
    yield Claim(
        "alpha",
        u * alpha_generator(alpha).subs(u, 1 / u),
        equals=alpha_generator(1 - alpha),
        where=(sympy.Ne(alpha, 0), sympy.Ne(alpha, 1)),
    )


THEOREM = Theorem(
    name="B1.reversal",
    title="D_f(pi||ref) is the reversed divergence of ref from pi; alpha becomes 1 - alpha",
    source=Source("li2025choice", "generators"),
    statement=r"D_f(\pi\|\pi_{ref}) = D_{\tilde f}(\pi_{ref}\|\pi),\quad \tilde f(u) = u f(1/u),"
    r"\quad \tilde f_\alpha = f_{1-\alpha}",
    relation=Relation.EQUAL,
    lhs=forwards,
    rhs=backwards,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "arguments exchanged, generator kept",
            rhs=lambda pi, ref: each(lambda divergence: divergence(ref, pi), EVERY),
        ),
        neighbour(
            "alpha kept under reversal",
            lhs=lambda pi, ref: each(lambda d: d(pi, ref), tuple(map(alpha_divergence, ALPHAS))),
            rhs=same_alpha,
        ),
        masses_clamped("ref", 3.2e-11),
    ),
)
