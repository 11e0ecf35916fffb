"""B6: k1 as a loss: its expected gradient is zero, whatever the policies."""

import sympy

from ..divergences import REVERSE_KL
from ..estimators import K1, x
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import at_fixed_samples, symbolic_softmax


def zero(pi: Values) -> Values:
    return 0 * pi


def derivation() -> Claims:
    # The slope of k1 in log pi is one, so its gradient is the mean score: sum_y grad pi(y) = grad 1 = 0.
    yield Claim("every score has the same weight", sympy.Derivative(K1.expression, x), equals=1)
    for outcomes in (2, 3):
        pi, ref, d = symbolic_softmax(outcomes)
        yield Claim(f"softmax, {outcomes} outcomes", at_fixed_samples(K1, pi, ref, d))


THEOREM = Theorem(
    name="B6.nothing",
    title="k1 as a loss has expected gradient zero",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[\nabla(-\log r)] = E_\pi[\nabla\log\pi] = 0 \quad\text{(samples fixed)}",
    relation=Relation.EQUAL,
    lhs=K1.loss_gradient,
    rhs=zero,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("k1 as a loss descends the reverse KL", rhs=REVERSE_KL.gradient),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
