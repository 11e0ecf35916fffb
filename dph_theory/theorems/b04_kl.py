"""B4 for both KL divergences: Pinsker's inequality, with the lemma that proves all of the family."""

import numpy as np
import sympy

from ..divergences import FORWARD_KL, REVERSE_KL, TOTAL_VARIATION
from ..fdivergence import u
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour
from .b01_convex import each

PAIR = chart(pi=simplex(3), ref=simplex(3))
EXAMPLES = (example(pi=".5 .3 .2", ref=".2 .2 .6"), example(pi=".501 .25 .249", ref=".5 .25 .25"))


def squared_distance(pi, ref):
    return np.square(TOTAL_VARIATION(pi, ref))[..., None]


def bounds(divergences, *, factor=1):
    """Factor D_f/(2 f''(1)) of each divergence, as a side; both curvatures in use, 1 and 1/2, are exact."""
    return lambda pi, ref: factor * each(lambda f: f(pi, ref) / (2 * f.curvature), divergences)


def derivation_for(name, f):
    """Gilardoni's lemma g(u) (1 + b(u-1)) >= f''(1) (u-1)^2/2, b = -f'''(1)/(3 f''(1)), g normalised.

    Then with b in [0, 1], so that the weights w = 1 + b(u-1) are non-negative, E_ref[w] = 1 and Cauchy give
    4 TV^2 = E_ref[|u-1|]^2 <= E_ref[w] E_ref[(u-1)^2/w] <= 2 D_f/f''(1).
    """
    curvature = sympy.diff(f, u, 2).subs(u, 1)
    b = sympy.simplify(-sympy.diff(f, u, 3).subs(u, 1) / (3 * curvature))
    g = f - sympy.diff(f, u).subs(u, 1) * (u - 1)
    room = g * (1 + b * (u - 1)) - curvature * (u - 1) ** 2 / 2
    yield Claim(f"{name}: 0 <= b", b, ">=0")
    yield Claim(f"{name}: b <= 1", 1 - b, ">=0")
    for k in range(3):
        derivative = sympy.simplify(sympy.diff(room, u, k).subs(u, 1))
        yield Claim(f"{name}: derivative {k} vanishes at 1", derivative)
    # The third derivative has the sign of u - 1, so the second is least at 1, where it is 0: the room is
    # convex, and flat at 1, where it is 0.
    third = sympy.simplify(sympy.diff(room, u, 3) / (u - 1))
    yield Claim(f"{name}: third derivative over u - 1", third, ">=0")


def derivation():
    for divergence in (FORWARD_KL, REVERSE_KL):
        yield from derivation_for(divergence.name, divergence.expression)


THEOREM = Theorem(
    name="B4.kl",
    title="Pinsker: TV^2 <= KL/2, in both directions",
    source=Source("gilardoni2010pinsker", "forward and reverse KL"),
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \tfrac12 D_f,\quad"
    r" D_f \in \{\mathrm{KL}(\pi_{ref}\|\pi),\; \mathrm{KL}(\pi\|\pi_{ref})\}",
    relation=Relation.AT_MOST,
    lhs=squared_distance,
    rhs=bounds((FORWARD_KL, REVERSE_KL)),
    instances=PAIR,
    expected=Verdict.PROVED,
    examples=EXAMPLES,
    symbolic=derivation,
    tight=True,
    # Both sides are second order at pi = ref, where the bound is tight.
    floor=1e-12,
    false_neighbours=(
        neighbour("forward KL, constant cut by 2%", rhs=bounds((FORWARD_KL,), factor=0.98)),
        neighbour("reverse KL, constant cut by 2%", rhs=bounds((REVERSE_KL,), factor=0.98)),
    ),
)
