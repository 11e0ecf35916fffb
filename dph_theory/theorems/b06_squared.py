"""B6: k2 as a loss: biased as a value, but its expected gradient is exactly the reverse KL's."""

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..estimators import K2, x
from ..fdivergence import u
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour
from .b06_nothing import at_fixed_samples, softmax


def gradient_of_k2(pi, ref):
    return K2.loss_gradient(pi, ref)


def reverse_kl_gradient(pi, ref):
    return REVERSE_KL.gradient(pi, ref)


def forward_kl_gradient(pi, ref):
    return FORWARD_KL.gradient(pi, ref)


def same_gradient(weight, divergence, sampled):
    """Claims that E_pi[weight grad log pi] is the gradient of D_f, weight an expression in x = log u.

    `sampled(pi, ref, d)` is the loss's own expected gradient, for the check on real softmax policies.
    """
    # grad E_ref[f(u)] = E_ref[f'(u) grad u] = E_pi[f'(u) grad log pi], since grad u = u grad log pi; and
    # scores have mean zero. So the two gradients agree if weight - f'(u) is the same at every outcome.
    gap = weight.subs(x, sympy.log(u)) - divergence.derivative
    yield Claim("weight - f'(u) is constant", sympy.diff(gap, u))
    for outcomes in (2, 3):
        pi, ref, d = softmax(outcomes)
        exact = d(sum(q * divergence.expression.subs(u, p / q) for p, q in zip(pi, ref, strict=True)))
        yield Claim(f"softmax, {outcomes} outcomes", sampled(pi, ref, d) - exact)


def derivation():
    yield from same_gradient(
        sympy.diff(K2.expression, x), REVERSE_KL, lambda pi, ref, d: at_fixed_samples(K2, pi, ref, d)
    )


THEOREM = Theorem(
    name="B6.squared",
    title="k2 as a loss gives the exact reverse-KL gradient",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[\nabla\tfrac12(\log r)^2] = \nabla\,\mathrm{KL}(\pi\|\pi_{ref})"
    r" \quad\text{(samples fixed)}",
    relation=Relation.EQUAL,
    lhs=gradient_of_k2,
    rhs=reverse_kl_gradient,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("k2 as a loss gives the forward-KL gradient", rhs=forward_kl_gradient),
        neighbour("log(r)^2 without its half", lhs=lambda pi, ref: 2 * gradient_of_k2(pi, ref)),
    ),
)
