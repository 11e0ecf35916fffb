"""B3, first claim: under samples from the reference adding c(u-1) to f, its gauge, changes nothing."""

import sympy

from ..binary_reward import filtered
from ..divergences import SMOOTH, each
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, masks, simplex, uniform
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def declared(pi: Values, ref: Values) -> Values:
    return each(lambda divergence: divergence(pi, ref), SMOOTH)


def mean_loss(law: Values, pi: Values, ref: Values, c: Values) -> Values:
    """E_law[f(u) + c(u-1)] for every divergence."""
    ratio = pi / ref
    shift = trailing(c, 1) * (ratio - 1)
    return each(lambda divergence: (law * (divergence.generator(ratio) + shift)).sum(axis=-1), SMOOTH)


def in_a_gauge(pi: Values, ref: Values, c: Values) -> Values:
    return mean_loss(ref, pi, ref, c)


def derivation() -> Claims:
    # One outcome's share of the gauge term is c (pi - ref), which sums to zero as ref > 0 everywhere.
    p, q = sympy.symbols("p q", positive=True)
    c = sympy.Symbol("c", real=True)
    yield Claim("one outcome's gauge term", q * c * (p / q - 1), equals=c * (p - q))


THEOREM = Theorem(
    name="B3.gauge",
    title="f + c(u-1) is the same divergence under samples from ref",
    source=Source("ours", "gauge"),
    statement=r"E_{ref}[f(u) + c(u-1)] = D_f(\pi\|\pi_{ref}) \quad\text{for every } c",
    relation=Relation.EQUAL,
    lhs=in_a_gauge,
    rhs=declared,
    instances=chart(pi=simplex(3), ref=simplex(3), valid=masks(3), c=uniform(-10, 10)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6", valid=[True, True, False], c="1"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "on filtered samples, y ~ p_*",
            lhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, c),
            rhs=lambda pi, ref, valid, c: mean_loss(filtered(ref, valid), pi, ref, 0 * c),
        ),
        neighbour(
            "on samples from the policy",
            lhs=lambda pi, ref, c: mean_loss(pi, pi, ref, c),
            rhs=lambda pi, ref, c: mean_loss(pi, pi, ref, 0 * c),
        ),
        masses_clamped("pi", 2e-11),
    ),
)
