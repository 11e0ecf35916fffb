"""B2. A misprinted Jensen-Shannon generator.

A generator that some summaries print for Jensen-Shannon has f(1) = -log 2: it gives equal distributions a
negative "divergence". What it computes, and what the right one is, stands here.
"""

import numpy as np
import sympy
from flint import arb

from ..divergences import JENSEN_SHANNON, REVERSE_KL
from ..fdivergence import u
from ..numeric.balls import Values
from ..numeric.enclosures import Scalar, xlogx
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, FalseStep, Kernel, Steps, derived, neighbour, refuted, scaled
from ._boxes import DROP, ODDS, both_ways, chance

MISPRINT = u * sympy.log(u / 2) - (u + 1) / 2 * sympy.log((u + 1) / 2)
"""The Jensen-Shannon generator as some summaries of li2025choice print it; no generator, f(1) = -log 2."""


def misprinted(pi: Values, ref: Values) -> Values:
    """E_ref[f(u)] for the misprint, `MISPRINT`, written out for floats and balls."""
    ratio = pi / ref
    middle = (ratio + 1) / 2
    return (ref * (ratio * np.log(ratio / 2) - middle * np.log(middle))).sum(axis=-1)


def zero(pi: Values) -> Values:
    return (0 * pi).sum(axis=-1)


def only_first_term_misprinted(pi: Values, ref: Values) -> Values:
    # u log(u/2) in place of u log u, the second term as it should be.
    return JENSEN_SHANNON(pi, ref) + (pi * (np.log(pi / ref / 2) - np.log(pi / ref))).sum(axis=-1)


def minimum(pi: Values) -> Values:
    """-log 2, the value at pi = ref."""
    return np.log((zero(pi) + 1) / 2)


def misprint_steps() -> Steps:
    yield Claim("f(1) = -log 2", sympy.Subs(MISPRINT, u, 1), equals=-sympy.log(2))
    yield Claim("f(1) = 0, which a generator needs", sympy.Subs(MISPRINT, u, 1))


GENERATOR = refuted(
    "B2.misprint",
    "u log(u/2) - (u+1)/2 log((u+1)/2) as a Jensen-Shannon generator: refuted",
    statement=r"f(1) = 0,\; E_{ref}[f(u)] \ge 0 \quad\text{for}\quad"
    r" f(u) = u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}",
    source=Source("li2025choice", "as some summaries print it"),
    on=chart(pi=simplex(3), ref=simplex(3)),
    at_most=(zero, misprinted),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    kernel=Kernel("no_generator"),
    derivation=misprint_steps,
    note="As some summaries print it, the generator has f(1) = -log 2, so that equal distributions are at"
    " -log 2 from each other. The generator u log u - (u+1) log((u+1)/2) is non-negative (B1); the misprint"
    " is another divergence less log 2 (B2.value).",
    false=(
        neighbour("only the first term misprinted", rhs=only_first_term_misprinted),
        neighbour(
            "bounded below by 99.999% of -log 2",
            at=example(pi=".4 .3 .3", ref=".4 .3 .3"),
            lhs=scaled(minimum, 0.99999),
        ),
    ),
)


def log_two(pi: Values) -> Values:
    return np.log((0 * pi).sum(axis=-1) + 2)


def difference_of_kls(pi: Values, ref: Values) -> Values:
    return REVERSE_KL(pi, ref) - REVERSE_KL((pi + ref) / 2, ref) - log_two(pi)


def jensen_shannon_less_log_two(pi: Values, ref: Values) -> Values:
    return JENSEN_SHANNON(pi, ref) / 2 - log_two(pi)


def value_steps() -> Steps:
    p, q = sympy.symbols("p q", positive=True)
    m = (p + q) / 2
    yield "Summed over outcomes, p log 2 gives log 2."
    terms = p * sympy.log(p / q) - m * sympy.log(m / q) - p * sympy.log(2)
    yield Claim("termwise", q * MISPRINT.subs(u, p / q), equals=terms)
    yield FalseStep("with + p log 2", q * MISPRINT.subs(u, p / q), equals=terms + 2 * p * sympy.log(2))
    yield (
        "So the misprint, though no generator, is convex: its least value is f(1), at pi = ref only "
        "(L1.jensen)."
    )
    yield Claim("f'' > 0", sympy.Derivative(MISPRINT, (u, 2)), ">0")
    yield Claim("f(1) = -log 2", sympy.Subs(MISPRINT, u, 1), equals=-sympy.log(2))


def both_forms(odds: Scalar, drop: Scalar) -> list[tuple[Scalar, Scalar]]:
    # Per outcome, u the ratio: u log(u/2) - m log m against u log u - m log m - u log 2, m = (u+1)/2.
    ratios = [(chance(odds), 1 - drop), (1 / (1 + odds), 1 + odds * drop)]
    two = arb(2)
    misprint = sum(r * (u * (u / 2).log() - (u + 1) / 2 * ((u + 1) / 2).log()) for r, u in ratios)
    kls = sum(r * (xlogx(u) - xlogx((u + 1) / 2) - u * two.log()) for r, u in ratios)
    return [(misprint, kls)]


VALUE = derived(
    "B2.value",
    "The misprint computes KL(pi||ref) - KL(m||ref) - log 2, least at pi = ref",
    statement=r"E_{ref}[u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}]"
    r" = \mathrm{KL}(\pi\|\pi_{ref}) - \mathrm{KL}(m\|\pi_{ref}) - \log 2,\quad m = \tfrac{\pi+\pi_{ref}}{2}",
    source=Source("ours", "what the misprint computes"),
    on=chart(pi=simplex(3), ref=simplex(3)),
    equal=(misprinted, difference_of_kls),
    given=("L1.jensen",),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    derivation=value_steps,
    reductions=both_ways(
        "two outcomes",
        {"odds": ODDS, "drop": DROP},
        lambda ref, pi: {"pi": pi, "ref": ref},
        sides=both_forms,
        tolerance=1e-5,
    ),
    false=(neighbour("Jensen-Shannon itself less log 2", rhs=jensen_shannon_less_log_two),),
)
