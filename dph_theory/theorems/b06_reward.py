"""B6: k1 inside the reward: the policy gradient is exactly the reverse KL's."""

from functools import partial

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import K1, K2, K3, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._lemmas import Derivative, same_gradient


def weighted_scores(pi: list[sympy.Expr], ref: list[sympy.Expr], d: Derivative) -> sympy.Expr:
    return sum(
        p * K1.expression.subs(x, sympy.log(p / q)) * d(sympy.log(p)) for p, q in zip(pi, ref, strict=True)
    )


THEOREM = Theorem(
    name="B6.reward",
    title="k1 inside the reward gives the exact reverse-KL gradient",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[(-\log r)\,\nabla\log\pi] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=K1.reward_gradient,
    rhs=REVERSE_KL.gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=partial(same_gradient, K1.expression, REVERSE_KL, weighted_scores),
    false_neighbours=(
        neighbour("k1 in the reward gives the forward-KL gradient", rhs=FORWARD_KL.gradient),
        neighbour("k2 in the reward does as well", lhs=K2.reward_gradient),
        neighbour("k3 in the reward does as well", lhs=K3.reward_gradient),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
