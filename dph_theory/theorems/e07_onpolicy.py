"""E7, first claim: an on-policy reverse-KL penalty pulls an answer back in proportion to its own mass."""

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import softmax_slopes


def gradient(pi: Values, ref: Values) -> Values:
    return -REVERSE_KL.gradient(pi, ref)


def own_mass_times_gap(pi: Values, ref: Values) -> Values:
    log_ratio = np.log(pi / ref)
    return pi * ((pi * log_ratio).sum(axis=-1, keepdims=True) - log_ratio)


def reference_less_policy(pi: Values, ref: Values) -> Values:
    return ref - pi


def without_the_mean(pi: Values, ref: Values) -> Values:
    return -pi * np.log(pi / ref)


def derivation() -> Claims:
    # KL is the sum of p log(p/r) over the answers, each of slope log(p/r) + 1 in p, and dp_k/dtheta_y is
    # p_k ((1 if k = y, else 0) - p_y); the ones add up to p_y - p_y = 0, the logs to p_y (log(p_y/r_y) - KL).
    yield from softmax_slopes()
    p, r = sympy.symbols("p r", positive=True)
    share = p * sympy.log(p / r)
    yield Claim("an answer's slope", sympy.Derivative(share, p), equals=sympy.log(p / r) + 1)
    p_y, kl, log_y = sympy.symbols("p_y kl log_y", real=True)
    own, others = p_y * (1 - p_y) * (log_y + 1), -p_y * ((kl - p_y * log_y) + (1 - p_y))
    yield Claim("the answer itself and all others", own + others, equals=p_y * (log_y - kl))


THEOREM = Theorem(
    name="E7.onpolicy",
    title="On-policy reverse KL: the pull on an answer is its own mass times its log-ratio gap",
    source=Source("ours", "the way back"),
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi\|\pi_{ref}) = \pi_y\big(E_\pi\log\tfrac{\pi}{\pi_{ref}}"
    r" - \log\tfrac{\pi_y}{\pi_{ref,y}}\big)",
    relation=Relation.EQUAL,
    lhs=gradient,
    rhs=own_mass_times_gap,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".1 .9", ref=".5 .5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("ref - pi, the pull of rehearsal", rhs=reference_less_policy),
        neighbour("without the mean log ratio", rhs=without_the_mean),
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
