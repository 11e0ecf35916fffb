"""E7, second claim: rehearsal of stored reference samples pulls an answer back by what it lacks."""

import sympy

from ..divergences import FORWARD_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._lemmas import softmax_slopes


def gradient(pi: Values, ref: Values) -> Values:
    return -FORWARD_KL.gradient(pi, ref)


def what_it_lacks(pi: Values, ref: Values) -> Values:
    return ref - pi


def own_mass_times_what_it_lacks(pi: Values, ref: Values) -> Values:
    pull = pi * (ref / pi - pi)
    return pull - pi * (pull.sum(axis=-1, keepdims=True) - 0 * pull)


def derivation() -> Claims:
    # KL(ref||pi) is the sum of -r_k log p_k up to a constant, and dlog p_k/dtheta_y is (1 if k = y, else 0)
    # - p_y: the slopes add up to -r_y + p_y times the sum of all r_k, which is one.
    yield from softmax_slopes()
    r_y, p_y = sympy.symbols("r_y p_y", positive=True)
    own, others = -r_y * (1 - p_y), -(1 - r_y) * (0 - p_y)
    yield Claim("the answer itself and all others", own + others, equals=p_y - r_y)


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
        near(0.01, pi=(0.24, 0.0002)),
    ),
)
