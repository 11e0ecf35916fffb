"""B2: what the misprinted generator computes: a difference of two KLs, less log 2."""

import numpy as np
import sympy
from flint import arb

from ..divergences import JENSEN_SHANNON, REVERSE_KL
from ..fdivergence import u
from ..numeric.balls import Values
from ..numeric.boxes import Scalar, logarithmic
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.reduction import Reduction
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import Law, chance
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


BOX = logarithmic("1e-2", "1e2")


def law(odds: Scalar) -> Law:
    return [chance(odds), 1 / (1 + odds)]


def both_forms(odds: Scalar, other: Scalar) -> list[tuple[Scalar, Scalar]]:
    pi, ref = law(odds), law(other)
    pairs = [(p, r, (p + r) / 2) for p, r in zip(pi, ref, strict=True)]
    misprint = sum(p * (p / r / 2).log() - m * (m / r).log() for p, r, m in pairs)
    kls = sum(p * (p.log() - r.log()) - m * (m.log() - r.log()) for p, r, m in pairs)
    return [(misprint, kls - arb(2).log())]


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
    reductions=(
        Reduction(
            "two outcomes",
            {"odds": BOX, "other": BOX},
            lambda odds, other: {"pi": law(odds), "ref": law(other)},
            sides=both_forms,
            tolerance=1e-5,
        ),
    ),
    false_neighbours=(
        neighbour("Jensen-Shannon itself less log 2", rhs=jensen_shannon_less_log_two),
        near(0.01, pi=(0.36, 0.0003)),
    ),
)
