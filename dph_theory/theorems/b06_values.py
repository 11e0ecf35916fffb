"""B6: the KL estimators as values: k1 and k3 are unbiased for the reverse KL, k2 is not."""

import sympy

from ..divergences import REVERSE_KL, each
from ..estimators import K1, K2, K3, x
from ..fdivergence import u
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def expected_k1_and_k3(pi: Values, ref: Values) -> Values:
    return each(lambda estimator: estimator.expected_value(pi, ref), (K1, K3))


def reverse_kl(pi: Values, ref: Values) -> Values:
    return trailing(REVERSE_KL(pi, ref), 1)


def derivation() -> Claims:
    # E_pi[k] = E_ref[u k(log u)], so k is unbiased if u k(log u) is the generator up to a gauge c (u - 1).
    for estimator, gauge in ((K1, 0), (K3, -1)):
        generator = u * estimator.expression.subs(x, sympy.log(u))
        yield Claim(
            f"u {estimator.name} = u log u + c (u-1)",
            generator,
            equals=REVERSE_KL.expression + gauge * (u - 1),
        )


THEOREM = Theorem(
    name="B6.values",
    title="As values, k1 and k3 are unbiased for the reverse KL",
    source=Source("schulman2020kl"),
    statement=r"E_\pi[-\log r] = E_\pi[r - 1 - \log r] = \mathrm{KL}(\pi\|\pi_{ref}),\quad r = \pi_{ref}/\pi",
    relation=Relation.EQUAL,
    lhs=expected_k1_and_k3,
    rhs=reverse_kl,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".5 .3 .2", ref=".2 .2 .6"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour(
            "k2 is unbiased too", lhs=lambda pi, ref: each(lambda k: k.expected_value(pi, ref), (K1, K2, K3))
        ),
        neighbour("unbiased for the forward KL", rhs=lambda pi, ref: reverse_kl(ref, pi)),
        masses_clamped("pi", 4.4e-11),
    ),
)
