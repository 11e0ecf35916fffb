"""B6: k2 as a loss: biased as a value, but its expected gradient is exactly the reverse KL's."""

from functools import partial

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import K2, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._lemmas import at_fixed_samples, same_gradient

THEOREM = Theorem(
    name="B6.squared",
    title="k2 as a loss gives the exact reverse-KL gradient",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[\nabla\tfrac12(\log r)^2] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})"
    r" \quad\text{(samples fixed)}",
    relation=Relation.EQUAL,
    lhs=K2.loss_gradient,
    rhs=REVERSE_KL.gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=partial(same_gradient, sympy.diff(K2.expression, x), REVERSE_KL, partial(at_fixed_samples, K2)),
    false_neighbours=(
        neighbour("k2 as a loss gives the forward-KL gradient", rhs=FORWARD_KL.gradient),
        neighbour("log(r)^2 without its half", lhs=scaled(K2.loss_gradient, 2)),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
