"""B4. Generalised Pinsker inequalities.

TV^2 <= D_f/(2 f''(1)) for forward KL, reverse KL, alpha in [-1, 2] and the Jensen-Shannon generator, by one
lemma of Gilardoni's; it fails for alpha = 2.5.
"""

from functools import partial

import sympy

from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, SMOOTH, alpha_divergence, alpha_generator
from ..fdivergence import u
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Claim, Kernel, Steps, derived, neighbour, scaled
from ._boxes import apart, chance, kl_to_first, kl_to_second
from ._generators import BETWEEN
from ._lemmas import EDGED_PAIR, PAIRS, gilardoni, pinsker_bounds, squared_variation

NEARLY_EVEN = example(pi=".501 .499", ref=".5 .5")
"""Nearly equal laws, at which the bounds are nearly attained."""


def kl_steps() -> Steps:
    for divergence in (FORWARD_KL, REVERSE_KL):
        yield from gilardoni(divergence.name, divergence.expression)


KL = derived(
    "B4.kl",
    "Pinsker: TV^2 <= KL/2, in both directions",
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \tfrac12 D_f,\quad"
    r" D_f \in \{\mathrm{KL}(\pi_{ref}\|\pi),\; \mathrm{KL}(\pi\|\pi_{ref})\}",
    source=Source("gilardoni2010pinsker", "forward and reverse KL"),
    on=EDGED_PAIR,
    at_most=(squared_variation, pinsker_bounds((FORWARD_KL, REVERSE_KL))),
    given=("L1.cauchy", "L1.rising"),
    examples=PAIRS,
    kernel=Kernel("pinsker_both_ways", part="for laws without a zero mass"),
    derivation=kl_steps,
    # Both sides are second order at pi = ref, where the bound is tight.
    floor=1e-12,
    reductions=apart(
        "two outcomes",
        lambda first, second: {"pi": first, "ref": second},
        lambda odds, drop: [
            kl(odds, drop) / 2 - chance(odds) * drop * drop for kl in (kl_to_first, kl_to_second)
        ],
    ),
    tight=NEARLY_EVEN,
    false=(
        neighbour(
            "forward KL, constant cut by 2%", at=NEARLY_EVEN, rhs=scaled(pinsker_bounds((FORWARD_KL,)), 0.98)
        ),
        neighbour(
            "reverse KL, constant cut by 2%", at=NEARLY_EVEN, rhs=scaled(pinsker_bounds((REVERSE_KL,)), 0.98)
        ),
    ),
)


JS_PLACE = SMOOTH.index(JENSEN_SHANNON)


JS = derived(
    "B4.js",
    "TV^2 <= D_JS for the Jensen-Shannon generator (twice the divergence)",
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \mathrm{KL}(\pi\|m) + \mathrm{KL}(\pi_{ref}\|m)",
    source=Source("gilardoni2010pinsker", "Jensen-Shannon"),
    on=EDGED_PAIR,
    at_most=(squared_variation, pinsker_bounds((JENSEN_SHANNON,))),
    given=("L1.cauchy", "L1.rising"),
    examples=PAIRS,
    derivation=partial(gilardoni, JENSEN_SHANNON.name, JENSEN_SHANNON.expression),
    floor=1e-12,
    reductions=apart(
        "two outcomes",
        lambda first, second: {"pi": second, "ref": first},
        lambda odds, drop: [BETWEEN[JS_PLACE](odds, drop)[0] - chance(odds) * drop * drop],
    ),
    tight=NEARLY_EVEN,
    false=(
        neighbour("constant cut by 2%", at=NEARLY_EVEN, rhs=scaled(pinsker_bounds((JENSEN_SHANNON,)), 0.98)),
        neighbour("the constant of the KLs, f''(1) = 1", rhs=scaled(pinsker_bounds((JENSEN_SHANNON,)), 0.5)),
    ),
)


FAMILY = tuple(map(alpha_divergence, (-1, -0.5, 0.25, 0.5, 1.5, 2)))


BEYOND = (alpha_divergence(2.5),)


COUNTEREXAMPLE = example(pi=".4335 .5665", ref=".0001 .9999")


def alpha_steps() -> Steps:
    yield (
        "alpha = -1 + 3t and 2 - alpha = 3(1-t), with t = 1/(1+odds) in (0, 1): here b = (1+alpha)/3 = t. At "
        "alpha = 0 and 1, odds = 2 and 1/2, the family has no value but the limits that are the two KLs "
        "(B1.limits, B4.kl)."
    )
    odds = sympy.Symbol("odds", positive=True)
    t, smooth = 1 / (1 + odds), (sympy.Ne(odds, 2), sympy.Ne(odds, sympy.Rational(1, 2)))
    yield from gilardoni("alpha in (-1, 2)", alpha_generator(3 * t - 1), where=smooth)
    for divergence in FAMILY:
        yield from gilardoni(divergence.name, divergence.expression)
    alpha = sympy.Symbol("alpha", real=True)
    third = sympy.Subs(sympy.Derivative(alpha_generator(alpha), (u, 3)), u, 1)
    domain = (sympy.Ne(alpha, 0), sympy.Ne(alpha, 1))
    yield Claim("b = (1+alpha)/3", -third / 3, equals=(1 + alpha) / 3, where=domain)


ALPHA = derived(
    "B4.alpha",
    "TV^2 <= D_alpha/2 for alpha in [-1, 2]",
    statement=r"\mathrm{TV}^2 \le \frac{D_\alpha}{2 f''(1)} = \tfrac12 D_\alpha,\quad \alpha \in [-1, 2]",
    source=Source("gilardoni2010pinsker", "alpha in [-1, 2]"),
    on=EDGED_PAIR,
    at_most=(squared_variation, pinsker_bounds(FAMILY)),
    given=("L1.cauchy", "L1.rising", "B1.limits", "B4.kl"),
    examples=PAIRS,
    derivation=alpha_steps,
    floor=1e-12,
    tight=NEARLY_EVEN,
    false=(
        *(
            neighbour(
                f"alpha = {alpha:g}, constant cut by 2%",
                at=NEARLY_EVEN,
                rhs=scaled(pinsker_bounds((divergence,)), 0.98),
            )
            for alpha, divergence in zip((-1, 0.5, 2), (FAMILY[0], FAMILY[3], FAMILY[5]), strict=True)
        ),
        neighbour("alpha = 2.5", rhs=pinsker_bounds(BEYOND), examples=(COUNTEREXAMPLE,)),
    ),
)
