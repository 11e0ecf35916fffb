"""B3, token level: any f >= 0 that vanishes only at u = 1 targets the base itself on correct samples."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import sympy

from ..binary_reward import filtered
from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, TOTAL_VARIATION, alpha_divergence, each
from ..estimators import k2_of_ratio, k3_of_ratio
from ..fdivergence import u
from ..numeric.balls import Values, highest, trailing
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ..tokens import RatioLoss, correct_ratios, filtered_token_loss, sequences
from ._tokens import RUNS, RUNS_PAIR

HALF = alpha_divergence(0.5)
LOSSES = (k3_of_ratio, k2_of_ratio, JENSEN_SHANNON.generator, HALF.generator, TOTAL_VARIATION.generator)
"""Non-negative, zero at u = 1 only: k3, k2 (not convex), Jensen-Shannon and alpha as printed, |u-1|/2."""


def of_the_policy(
    losses: Sequence[RatioLoss], pi_tokens: list[Values], base_tokens: list[Values], valid: Values
) -> Values:
    """The token losses of pi."""
    return each(lambda loss: filtered_token_loss(loss, pi_tokens, base_tokens, valid), losses)


def largest_term(pi_tokens: list[Values], base_tokens: list[Values], valid: Values) -> Values:
    """The largest term of one token of one correct sequence, weighted by p_*: zero only if u = 1 at all."""
    target = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape)
    ratios = [trailing(u, target.ndim - u.ndim) for u in correct_ratios(pi_tokens, base_tokens, valid)]

    def largest(loss: RatioLoss) -> Values:
        terms = np.stack([target * loss(ratio) for ratio in ratios], axis=-1)
        return highest(abs(terms.reshape(len(terms), -1)))

    return each(largest, LOSSES)


def of_the_base(losses: Sequence[RatioLoss], base_tokens: list[Values], valid: Values) -> Values:
    """The token losses at pi = a."""
    return of_the_policy(losses, base_tokens, base_tokens, valid)


def of_the_filtered_model(base_tokens: list[Values], valid: Values) -> Values:
    """The token losses at p_*, written as next-token tables; those of the base where it never comes."""
    after, tables = filtered(sequences(base_tokens), valid).reshape(base_tokens[-1].shape), list[Values]()
    for base in reversed(base_tokens):
        mass = after.sum(axis=-1)
        visited = trailing(np.asarray(mass > 0).astype(bool), 1)
        tables.insert(0, np.where(visited, after / np.where(visited, trailing(mass, 1), 1 + 0 * after), base))
        after = mass
    return of_the_policy(LOSSES, tables, base_tokens, valid)


def derivation() -> Claims:
    # A sum of non-negative terms, zero if and only if u_t = 1 at every token of every correct sequence: then
    # pi(y) = prod pi(y_t|y_<t) = a(y) on Y1, and the mass there is A1. It remains that each f is such:
    # it lies above its tangent at 1, strictly but at 1 (L1.tangent).
    functions = {
        "k3": u - 1 - sympy.log(u),
        "Jensen-Shannon": JENSEN_SHANNON.expression,
        "alpha = 1/2": HALF.expression,
    }
    for name, f in functions.items():
        yield Claim(f"f(1) = 0, {name}", sympy.Subs(f, u, 1))
        yield Claim(f"f'(1) = 0, {name}", sympy.Subs(sympy.Derivative(f, u), u, 1))
        yield Claim(f"f'' > 0, {name}", sympy.Derivative(f, (u, 2)), ">0")
    # k2 = x^2/2 and |u-1|/2 vanish at x = log u = 0 and u - 1 = 0 only.
    d = sympy.Symbol("d", real=True, nonzero=True)
    yield Claim("k2 > 0 at log u = d", d**2 / 2, ">0")
    yield Claim("|u-1|/2 > 0 at u = 1 + d", sympy.Abs(d) / 2, ">0")


THEOREM = Theorem(
    name="B3.tokens",
    title="Per token on correct samples, any f >= 0 zero only at u = 1 is least at pi = a on Y1, mass A1",
    source=Source("ours", "token level"),
    statement=r"E_{p_*}\Big[\sum_t f(u_t)\Big] \ge \max_{y \in Y_1,\, t} |p_*(y) f(u_t)| \ge 0"
    r" \text{ with equality} \iff \pi = a \text{ on } Y_1,"
    r"\; \pi(Y_1) = A_1,\quad f \ge 0,\; f(u) = 0 \iff u = 1,\quad"
    r" u_t = \tfrac{\pi(y_t|y_{<t})}{a(y_t|y_{<t})}",
    relation=Relation.AT_MOST,
    lhs=largest_term,
    rhs=partial(of_the_policy, LOSSES),
    instances=RUNS,
    expected=Verdict.PROVED,
    given=("L1.tangent",),
    examples=(RUNS_PAIR,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("least at p_*", lhs=of_the_filtered_model),
        neighbour(
            "-log u, which is negative beyond u = 1",
            lhs=partial(of_the_base, (FORWARD_KL.generator,)),
            rhs=partial(of_the_policy, (FORWARD_KL.generator,)),
        ),
        neighbour(
            "u log u, which is negative below u = 1",
            lhs=partial(of_the_base, (REVERSE_KL.generator,)),
            rhs=partial(of_the_policy, (REVERSE_KL.generator,)),
        ),
        masses_clamped("base_third", 1e-6),
    ),
)
