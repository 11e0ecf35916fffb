"""B3: -log u on correct samples, per token or per sequence, is forward KL to the filtered model."""

from functools import partial
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..binary_reward import filtered, valid_mass
from ..divergences import FORWARD_KL
from ..estimators import k3_of_ratio, mean_on_filtered
from ..numeric.balls import Values, is_ball
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ..tokens import RatioLoss, filtered_token_loss
from ._tokens import SAMPLED, SAMPLED_PAIR


def minus_log(ratio: Values) -> Values:
    """-log u, infinite at u = 0, in balls too."""
    empty = np.asarray(ratio == 0).astype(bool)
    infinite: Any = arb.pos_inf() if is_ball(ratio) else np.inf
    return np.where(empty, infinite, -np.log(np.where(empty, 1 + 0 * ratio, ratio)))


def both(
    loss: RatioLoss,
    pi_tokens: list[Values],
    base_tokens: list[Values],
    pi: Values,
    base: Values,
    valid: Values,
) -> Values:
    """The loss per token, and of the ratio of whole sequences."""
    tokens = filtered_token_loss(loss, pi_tokens, base_tokens, valid)
    return np.stack([tokens, mean_on_filtered(loss, pi, base, valid)], axis=-1)


def to_the_filtered_model(pi: Values, base: Values, valid: Values) -> Values:
    distance = FORWARD_KL(pi, filtered(base, valid))
    return (distance + np.log(valid_mass(base, valid)))[..., None]


def to_the_base(pi: Values, base: Values, valid: Values) -> Values:
    return (FORWARD_KL(pi, base) + np.log(valid_mass(base, valid)))[..., None]


def derivation() -> Claims:
    # One correct sequence of target mass a/A1; the last logarithm, weighted, sums to log A1. The tokens'
    # ratios multiply to the sequence's, so that their -log add up to the same.
    a, p, A1 = sympy.symbols("a p A1", positive=True)
    target = a / A1
    split = target * sympy.log(target / p) + target * sympy.log(A1)
    yield Claim("one sequence", -target * sympy.log(p / a), equals=split)
    first, second = sympy.symbols("u_1 u_2", positive=True)
    # A prefix of any length and its next token.
    yield Claim("its tokens", sympy.log(first) + sympy.log(second), equals=sympy.log(first * second))


THEOREM = Theorem(
    name="B3.filtered",
    title="-log u on correct samples is forward KL to the filtered model, plus log A1",
    source=Source("ours", "rehearsal on correct samples"),
    statement=r"E_{p_*}\Big[\sum_t -\log u_t\Big] = E_{p_*}[-\log u] = \mathrm{KL}(p_*\|\pi) + \log A_1,"
    r"\quad \text{so its minimiser is } p_*",
    relation=Relation.EQUAL,
    lhs=partial(both, minus_log),
    rhs=to_the_filtered_model,
    instances=SAMPLED,
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    examples=(SAMPLED_PAIR,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("k3 on the same samples", lhs=partial(both, k3_of_ratio)),
        neighbour("forward KL to the base", rhs=to_the_base),
        masses_clamped("base_second", 1e-9),
    ),
)
