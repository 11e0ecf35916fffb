"""B2. A misprinted Jensen-Shannon generator.

A generator that some summaries print for Jensen-Shannon has f(1) = -log 2: it gives equal distributions a
negative "divergence". What it computes, and the correct generator, stand here.
"""

import numpy as np

from ..divergences import JENSEN_SHANNON, REVERSE_KL
from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import neighbour, refuted, theorem
from ._laws import PI_REF


def misprinted(pi: Values, ref: Values) -> Values:
    """E_ref[f(u)] for the misprint, `MISPRINT`, written out."""
    ratio = pi / ref
    middle = (ratio + 1) / 2
    return (ref * (ratio * np.log(ratio / 2) - middle * np.log(middle))).sum(axis=-1)


def zero(pi: Values) -> Values:
    return (0 * pi).sum(axis=-1)


def only_first_term_misprinted(pi: Values, ref: Values) -> Values:
    # u log(u/2) in place of u log u, the second term as it should be.
    return JENSEN_SHANNON(pi, ref) + (pi * (np.log(pi / ref / 2) - np.log(pi / ref))).sum(axis=-1)


GENERATOR = refuted(
    "B2.misprint",
    "u log(u/2) - (u+1)/2 log((u+1)/2) as a Jensen-Shannon generator: refuted",
    statement=r"f(1) = 0,\; E_{ref}[f(u)] \ge 0 \quad\text{for}\quad"
    r" f(u) = u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}",
    source=Source("li2025choice", "as some summaries print it"),
    on=chart(pi=simplex(3), ref=simplex(3)),
    at_most=(zero, misprinted),
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6", lhs="0", rhs="-.4225501102867"),),
    coq="no_generator",
    note="As some summaries print it, the generator has f(1) = -log 2, so that equal distributions are at"
    " -log 2 from each other. The generator u log u - (u+1) log((u+1)/2) is non-negative (B1); the misprint"
    " is another divergence less log 2 (B2.value).",
    false=(neighbour("only the first term misprinted", rhs=only_first_term_misprinted),),
)


def log_two(pi: Values) -> Values:
    return np.log((0 * pi).sum(axis=-1) + 2)


def difference_of_kls(pi: Values, ref: Values) -> Values:
    return REVERSE_KL(pi, ref) - REVERSE_KL((pi + ref) / 2, ref) - log_two(pi)


VALUE = theorem(
    "B2.value",
    "The misprint computes KL(pi||ref) - KL(m||ref) - log 2, least at pi = ref",
    statement=r"E_{ref}[u\log\tfrac{u}{2} - \tfrac{u+1}{2}\log\tfrac{u+1}{2}]"
    r" = \mathrm{KL}(\pi\|\pi_{ref}) - \mathrm{KL}(m\|\pi_{ref}) - \log 2,\quad m = \tfrac{\pi+\pi_{ref}}{2}",
    source=Source("ours", "what the misprint computes"),
    on=chart(pi=simplex(3), ref=simplex(3)),
    equal=(misprinted, difference_of_kls),
    examples=(PI_REF.giving(value="-.4395530335638"),),
    coq="misprint_value",
    false=(
        neighbour(
            "Jensen-Shannon itself less log 2", rhs=lambda pi, ref: JENSEN_SHANNON(pi, ref) / 2 - log_two(pi)
        ),
    ),
)
