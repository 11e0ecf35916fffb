"""B3: -log u on correct samples, per token or per sequence, is forward KL to the filtered model."""

import numpy as np
import sympy

from ..binary_reward import filtered, valid_mass
from ..divergences import FORWARD_KL
from ..references import Source
from ..statement.charts import chart, example, masks, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour
from .b03_targets import k3
from .b05_chain import sequences

REHEARSAL = chart(
    pi_first=simplex(2),
    pi_second=simplex(2, 2),
    base_first=simplex(2),
    base_second=simplex(2, 2),
    valid=masks(4),
)
"""Policy and base over sequences of two tokens, and a verifier of the four sequences."""
EXAMPLE = example(
    pi_first=".6 .4",
    pi_second=[".5 .5", ".7 .3"],
    base_first=".3 .7",
    base_second=[".2 .8", ".6 .4"],
    valid=[True, False, True, False],
)


def token_loss(loss, pi_first, pi_second, base_first, base_second, valid):
    """E_{p_*} sum_t loss(u_t), u_t = pi(y_t | y_<t)/a(y_t | y_<t): correct sequences, token by token."""
    correct = valid.reshape(base_second.shape)
    # Tokens of no correct sequence have no weight; a ratio of one there keeps every policy finite.
    first = np.where(correct.any(axis=-1), pi_first / base_first, 0 * base_first + 1)
    second = np.where(correct, pi_second / base_second, 0 * base_second + 1)
    target = filtered(sequences(base_first, base_second), valid)
    return (target * (loss(first)[..., None] + loss(second)).reshape(target.shape)).sum(axis=-1)


def sequence_loss(loss, pi_first, pi_second, base_first, base_second, valid):
    """E_{p_*} loss(u), u the ratio of whole sequences."""
    base = sequences(base_first, base_second)
    return (filtered(base, valid) * loss(sequences(pi_first, pi_second) / base)).sum(axis=-1)


def both(loss):
    """The token and the sequence loss, as a side."""

    def side(pi_first, pi_second, base_first, base_second, valid):
        given = (loss, pi_first, pi_second, base_first, base_second, valid)
        return np.stack([token_loss(*given), sequence_loss(*given)], axis=-1)

    return side


def to_the_filtered_model(pi_first, pi_second, base_first, base_second, valid):
    base, pi = sequences(base_first, base_second), sequences(pi_first, pi_second)
    distance = FORWARD_KL(pi, filtered(base, valid))
    return (distance + np.log(valid_mass(base, valid)))[..., None]


def to_the_base(pi_first, pi_second, base_first, base_second, valid):
    base, pi = sequences(base_first, base_second), sequences(pi_first, pi_second)
    return (FORWARD_KL(pi, base) + np.log(valid_mass(base, valid)))[..., None]


def derivation():
    # One correct sequence of target mass a/A1; the last logarithm, weighted, sums to log A1. The tokens'
    # ratios multiply to the sequence's, so that their -log add up to the same.
    a, p, A1 = sympy.symbols("a p A1", positive=True)
    target = a / A1
    split = target * sympy.log(target / p) + target * sympy.log(A1)
    yield Claim("one sequence", -target * sympy.log(p / a) - split)
    first, second = sympy.symbols("u_1 u_2", positive=True)
    yield Claim("its tokens", sympy.log(first) + sympy.log(second) - sympy.log(first * second))


THEOREM = Theorem(
    name="B3.filtered",
    title="-log u on correct samples is forward KL to the filtered model, plus log A1",
    source=Source("ours", "rehearsal on correct samples"),
    statement=r"E_{p_*}\Big[\sum_t -\log u_t\Big] = E_{p_*}[-\log u] = \mathrm{KL}(p_*\|\pi) + \log A_1,"
    r"\quad \text{so its minimiser is } p_*",
    relation=Relation.EQUAL,
    lhs=both(FORWARD_KL.generator),
    rhs=to_the_filtered_model,
    instances=REHEARSAL,
    expected=Verdict.PROVED,
    examples=(EXAMPLE,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("k3 on the same samples", lhs=both(k3)),
        neighbour("forward KL to the base", rhs=to_the_base),
    ),
)
