"""E7, second claim: rehearsal of stored reference samples pulls an answer back by what it lacks."""

import sympy

from ..divergences import FORWARD_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour


def gradient(pi: Values, ref: Values) -> Values:
    return -FORWARD_KL.gradient(pi, ref)


def what_it_lacks(pi: Values, ref: Values) -> Values:
    return ref - pi


def own_mass_times_what_it_lacks(pi: Values, ref: Values) -> Values:
    pull = pi * (ref / pi - pi)
    return pull - pi * (pull.sum(axis=-1, keepdims=True) - 0 * pull)


def derivation() -> Claims:
    t, r = sympy.symbols("t0:3", real=True), sympy.symbols("r0:2", positive=True)
    ref = [*r, 1 - r[0] - r[1]]
    pi = [sympy.exp(s) / sum(sympy.exp(w) for w in t) for s in t]
    kl = sum(q * (sympy.log(q) - sympy.log(p)) for p, q in zip(pi, ref, strict=True))
    yield Claim("softmax of three", sympy.simplify(-sympy.diff(kl, t[0]) - (ref[0] - pi[0])))


THEOREM = Theorem(
    name="E7.rehearsed",
    title="Rehearsed forward KL: the pull on an answer is ref - pi, however small its mass",
    source=Source("ours", "the way back"),
    statement=r"-\partial_{\theta_y} \mathrm{KL}(\pi_{ref}\|\pi) = \pi_{ref,y} - \pi_y",
    relation=Relation.EQUAL,
    lhs=gradient,
    rhs=what_it_lacks,
    instances=chart(pi=simplex(4), ref=simplex(4)),
    expected=Verdict.PROVED,
    examples=(example(pi=".1 .9", ref=".5 .5"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("the mean of the policy's own mass left in", rhs=own_mass_times_what_it_lacks),
    ),
)
