"""B4 for the alpha family: TV^2 <= D_alpha/2 for alpha in [-1, 2], and not much beyond."""

import sympy

from ..divergences import alpha_divergence, alpha_generator
from ..fdivergence import u
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import EDGED_PAIR, PAIRS, gilardoni, pinsker_bounds, squared_variation

FAMILY = tuple(map(alpha_divergence, (-1, -0.5, 0.25, 0.5, 1.5, 2)))
BEYOND = (alpha_divergence(2.5),)
COUNTEREXAMPLE = example(pi=".4335 .5665", ref=".0001 .9999")


def derivation() -> Claims:
    # alpha = -1 + 3t and 2 - alpha = 3(1-t), with t = 1/(1+odds) in (0, 1): here b = (1+alpha)/3 = t. At
    # alpha = 0 and 1, odds = 2 and 1/2, the family has no value but the limits that are the two KLs
    # (B1.limits, B4.kl).
    odds = sympy.Symbol("odds", positive=True)
    t, smooth = 1 / (1 + odds), (sympy.Ne(odds, 2), sympy.Ne(odds, sympy.Rational(1, 2)))
    yield from gilardoni("alpha in (-1, 2)", alpha_generator(3 * t - 1), where=smooth)
    for divergence in FAMILY:
        yield from gilardoni(divergence.name, divergence.expression)
    alpha = sympy.Symbol("alpha", real=True)
    third = sympy.Subs(sympy.Derivative(alpha_generator(alpha), (u, 3)), u, 1)
    domain = (sympy.Ne(alpha, 0), sympy.Ne(alpha, 1))
    yield Claim("b = (1+alpha)/3", -third / 3, equals=(1 + alpha) / 3, where=domain)


THEOREM = Theorem(
    name="B4.alpha",
    title="TV^2 <= D_alpha/2 for alpha in [-1, 2]",
    source=Source("gilardoni2010pinsker", "alpha in [-1, 2]"),
    statement=r"\mathrm{TV}^2 \le \frac{D_\alpha}{2 f''(1)} = \tfrac12 D_\alpha,\quad \alpha \in [-1, 2]",
    relation=Relation.AT_MOST,
    lhs=squared_variation,
    rhs=pinsker_bounds(FAMILY),
    instances=EDGED_PAIR,
    expected=Verdict.PROVED,
    given=("L1.cauchy", "L1.rising", "B1.limits", "B4.kl"),
    examples=PAIRS,
    symbolic=derivation,
    tight=True,
    floor=1e-12,
    false_neighbours=(
        *(
            neighbour(
                f"alpha = {alpha:g}, constant cut by 2%", rhs=scaled(pinsker_bounds((divergence,)), 0.98)
            )
            for alpha, divergence in zip((-1, 0.5, 2), (FAMILY[0], FAMILY[3], FAMILY[5]), strict=True)
        ),
        neighbour("alpha = 2.5", rhs=pinsker_bounds(BEYOND), examples=(COUNTEREXAMPLE,)),
    ),
)
