"""E7, first claim: an on-policy reverse-KL penalty pulls an answer back in proportion to its own mass."""

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


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
    t, r = sympy.symbols("t0:3", real=True), sympy.symbols("r0:3", positive=True)
    pi = [sympy.exp(s) / sum(sympy.exp(w) for w in t) for s in t]
    logs = [sympy.log(p / q) for p, q in zip(pi, r, strict=True)]
    kl = sum(p * w for p, w in zip(pi, logs, strict=True))
    yield Claim("softmax of three", sympy.simplify(-sympy.diff(kl, t[0]) - pi[0] * (kl - logs[0])))


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
    ),
)
