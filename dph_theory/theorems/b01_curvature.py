"""B1: f''(1), the local coefficient: 1 for both KLs and the alpha family, 1/2 for Jensen-Shannon."""

import numpy as np
import sympy

from ..divergences import ALPHAS, SMOOTH, alpha_generator, each
from ..fdivergence import FDivergence, u
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, uniform
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour

STATED = {
    "forward_kl": sympy.Integer(1),
    "reverse_kl": sympy.Integer(1),
    "jensen_shannon": sympy.Rational(1, 2),
    "hellinger": sympy.Rational(1, 2),
    "chi_squared": sympy.Integer(2),
    "neyman_chi_squared": sympy.Integer(2),
    **{f"alpha_{alpha:g}": sympy.Integer(1) for alpha in ALPHAS},
}


def second_difference(h: Values, eps: Values) -> Values:
    # f(1+s) + f(1-s) over s^2; the linear gauge cancels, so the normalised form, exact near 1, serves.
    step = h * eps
    sides = [np.log1p(step), np.log1p(-step)]

    def quotient(divergence: FDivergence) -> Values:
        values = [divergence.on_log_ratio(x, gauge="normalised").value for x in sides]
        return (values[0] + values[1]) / step**2

    return each(quotient, SMOOTH)


def stated(h: Values) -> Values:
    return np.broadcast_to([float(STATED[divergence.name]) for divergence in SMOOTH], (*h.shape, len(SMOOTH)))


def as_if_all_one(h: Values) -> Values:
    return np.ones((*h.shape, len(SMOOTH)))


def derivation() -> Claims:
    # The quotient tends to f''(1) by L1.curvature, f(1) being 0.
    for divergence in SMOOTH:
        curvature = sympy.Subs(sympy.Derivative(divergence.expression, (u, 2)), u, 1)
        yield Claim(f"f''(1), {divergence.name}", curvature, equals=STATED[divergence.name])
    alpha = sympy.Symbol("alpha", real=True)
    domain = (sympy.Ne(alpha, 0), sympy.Ne(alpha, 1))
    family = sympy.Derivative(alpha_generator(alpha), (u, 2))
    yield Claim("f'' of the alpha family, 1 at u = 1", family, equals=u ** (-alpha - 1), where=domain)


THEOREM = Theorem(
    name="B1.curvature",
    title="f''(1) is 1 for both KLs and alpha, 1/2 for the Jensen-Shannon generator",
    source=Source("li2025choice", "generators"),
    statement=r"\frac{f(1+h\epsilon) + f(1-h\epsilon)}{(h\epsilon)^2} \to f''(1),\quad"
    r" f''_{KL}(1) = f''_{\alpha}(1) = 1,\; f''_{JS}(1) = \tfrac12",
    relation=Relation.TENDS,
    lhs=second_difference,
    rhs=stated,
    instances=chart(h=uniform(0.1, 0.9)),
    expected=Verdict.PROVED,
    given=("L1.curvature",),
    symbolic=derivation,
    false_neighbours=(
        neighbour("f''(1) = 1 for the Jensen-Shannon generator too", rhs=as_if_all_one),
        near(0.01, h=(0.59, 0.0002)),
    ),
)
