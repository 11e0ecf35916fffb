"""B6: k1 inside the reward: the policy gradient is exactly the reverse KL's."""

import sympy

from ..divergences import REVERSE_KL
from ..estimators import K1, K2, K3, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b06_squared import forward_kl_gradient, reverse_kl_gradient, same_gradient


def gradient_of_k1_reward(pi, ref):
    return K1.reward_gradient(pi, ref)


def weighted_scores(pi, ref, d):
    return sum(
        p * K1.expression.subs(x, sympy.log(p / q)) * d(sympy.log(p)) for p, q in zip(pi, ref, strict=True)
    )


def derivation():
    yield from same_gradient(K1.expression, REVERSE_KL, weighted_scores)


THEOREM = Theorem(
    name="B6.reward",
    title="k1 inside the reward gives the exact reverse-KL gradient",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[(-\log r)\,\nabla\log\pi] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=gradient_of_k1_reward,
    rhs=reverse_kl_gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("k1 in the reward gives the forward-KL gradient", rhs=forward_kl_gradient),
        neighbour("k2 in the reward does as well", lhs=lambda pi, ref: K2.reward_gradient(pi, ref)),
        neighbour("k3 in the reward does as well", lhs=lambda pi, ref: K3.reward_gradient(pi, ref)),
    ),
)
