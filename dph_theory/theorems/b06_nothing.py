"""B6: k1 as a loss: its expected gradient is zero, whatever the policies."""

import sympy

from ..divergences import REVERSE_KL
from ..estimators import K1, x
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour


def gradient_of_k1(pi, ref):
    return K1.loss_gradient(pi, ref)


def zero(pi):
    return 0 * pi


def softmax(outcomes):
    """A softmax policy, a reference, and d/d theta_0, symbolically.

    The policy is w/sum(w) with w = e^theta, so that d/d theta_0 = w_0 d/d w_0. By the symmetry of the
    outcomes the derivative in theta_0 speaks for all.
    """
    w = sympy.symbols(f"w:{outcomes}", positive=True)
    s = sympy.symbols(f"s:{outcomes}", positive=True)
    pi, ref = [v / sum(w) for v in w], [v / sum(s) for v in s]
    return pi, ref, lambda expression: w[0] * sympy.diff(expression, w[0])


def at_fixed_samples(estimator, pi, ref, d):
    """E_pi[d k]: the estimator differentiated at each outcome, weighted by how often it is sampled."""
    return sum(p * d(estimator.expression.subs(x, sympy.log(p / q))) for p, q in zip(pi, ref, strict=True))


def derivation():
    # The slope of k1 in log pi is one, so its gradient is the mean score: sum_y grad pi(y) = grad 1 = 0.
    yield Claim("every score has the same weight", sympy.diff(K1.expression, x) - 1)
    for outcomes in (2, 3):
        pi, ref, d = softmax(outcomes)
        yield Claim(f"softmax, {outcomes} outcomes", at_fixed_samples(K1, pi, ref, d))


THEOREM = Theorem(
    name="B6.nothing",
    title="k1 as a loss has expected gradient zero",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[\nabla(-\log r)] = E_\pi[\nabla\log\pi] = 0 \quad\text{(samples fixed)}",
    relation=Relation.EQUAL,
    lhs=gradient_of_k1,
    rhs=zero,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(neighbour("k1 as a loss descends the reverse KL", rhs=REVERSE_KL.gradient),),
)
