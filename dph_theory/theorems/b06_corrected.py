"""B6: k3 times the importance ratio, differentiated too: the exact reverse-KL gradient."""

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import K3, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import Derivative, same_gradient


def with_the_ratio(pi: list[sympy.Expr], ref: list[sympy.Expr], d: Derivative) -> sympy.Expr:
    """E_old[grad (pi/pi_old) k3] at pi_old = pi: the ratio's pi_old, a constant, cancels the sampling law."""
    return sum(d(p * K3.expression.subs(x, sympy.log(p / q))) for p, q in zip(pi, ref, strict=True))


def derivation() -> Claims:
    # The product rule puts k3 itself beside its slope as the weight of the score.
    yield from same_gradient(K3.expression + sympy.diff(K3.expression, x), REVERSE_KL, with_the_ratio)


THEOREM = Theorem(
    name="B6.corrected",
    title="k3 times the importance ratio gives the exact reverse-KL gradient",
    source=Source("schulman2020kl"),
    statement=r"E_{\pi_{old}}\big[\nabla\tfrac{\pi}{\pi_{old}}(r - 1 - \log r)\big]_{\pi_{old} = \pi}"
    r" = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})",
    relation=Relation.EQUAL,
    lhs=K3.corrected_loss_gradient,
    rhs=REVERSE_KL.gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the ratio not differentiated", lhs=K3.loss_gradient),
        neighbour("the corrected form gives the forward-KL gradient", rhs=FORWARD_KL.gradient),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
