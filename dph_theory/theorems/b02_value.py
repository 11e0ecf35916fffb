"""B2: what the misprinted generator computes: a difference of two KLs, less log 2."""

import numpy as np
import sympy
from flint import arb

from ..divergences import JENSEN_SHANNON, REVERSE_KL
from ..fdivergence import u
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, xlogx
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import DROP, ODDS, both_ways, chance
from ._lemmas import MISPRINT, misprinted


def log_two(pi: Values) -> Values:
    return np.log((0 * pi).sum(axis=-1) + 2)


def difference_of_kls(pi: Values, ref: Values) -> Values:
    return REVERSE_KL(pi, ref) - REVERSE_KL((pi + ref) / 2, ref) - log_two(pi)


def jensen_shannon_less_log_two(pi: Values, ref: Values) -> Values:
    return JENSEN_SHANNON(pi, ref) / 2 - log_two(pi)


def derivation() -> Claims:
    p, q = sympy.symbols("p q", positive=True)
    m = (p + q) / 2
    # Summed over outcomes, p log 2 gives log 2.
    terms = p * sympy.log(p / q) - m * sympy.log(m / q) - p * sympy.log(2)
    yield Claim("termwise", q * MISPRINT.subs(u, p / q), equals=terms)
    # So the misprint, though no generator, is convex: its least value is f(1), at pi = ref only (L1.jensen).
    yield Claim("f'' > 0", sympy.Derivative(MISPRINT, (u, 2)), ">0")
    yield Claim("f(1) = -log 2", sympy.Subs(MISPRINT, u, 1), equals=-sympy.log(2))


def both_forms(odds: Scalar, drop: Scalar) -> list[tuple[Scalar, Scalar]]:
    # Per outcome, u the ratio: u log(u/2) - m log m against u log u - m log m - u log 2, m = (u+1)/2.
    ratios = [(chance(odds), 1 - drop), (1 / (1 + odds), 1 + odds * drop)]
    two = arb(2)
    misprint = sum(r * (u * (u / 2).log() - (u + 1) / 2 * ((u + 1) / 2).log()) for r, u in ratios)
    kls = sum(r * (xlogx(u) - xlogx((u + 1) / 2) - u * two.log()) for r, u in ratios)
    return [(misprint, kls)]


THEOREM = Theorem(
    name="B2.value",
    title="The misprint computes KL(pi||ref) - KL(m||ref) - log 2, least at pi = ref",
    source=Source("ours", "what the misprint computes"),
    statement=r"E_{ref}[u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}]"
    r" = \mathrm{KL}(\pi\|\pi_{ref}) - \mathrm{KL}(m\|\pi_{ref}) - \log 2,\quad m = \tfrac{\pi+\pi_{ref}}{2}",
    relation=Relation.EQUAL,
    lhs=misprinted,
    rhs=difference_of_kls,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.PROVED,
    given=("L1.jensen",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    reductions=both_ways(
        "two outcomes",
        {"odds": ODDS, "drop": DROP},
        lambda ref, pi: {"pi": pi, "ref": ref},
        sides=both_forms,
        tolerance=1e-5,
    ),
    false_neighbours=(
        neighbour("Jensen-Shannon itself less log 2", rhs=jensen_shannon_less_log_two),
        near(0.01, pi=(0.36, 0.0003)),
    ),
)
