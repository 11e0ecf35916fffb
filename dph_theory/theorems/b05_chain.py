"""B5, first claim: forward KL of sequences is the sum of token forward KLs under reference prefixes."""

import sympy

from ..divergences import FORWARD_KL, REVERSE_KL
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour

TWO_TOKENS = chart(
    pi_first=simplex(3), pi_second=simplex(3, 3), ref_first=simplex(3), ref_second=simplex(3, 3)
)
"""Policy and reference over two tokens of three symbols: the first law, and the second given the first."""


def sequences(first, second):
    """The law of two tokens, (..., symbols) and (..., symbols, symbols) to (..., symbols^2)."""
    law = first[..., None] * second
    return law.reshape(*law.shape[:-2], -1)


def of_sequences(divergence):
    """D_f of the two laws of sequences, as a side."""

    def side(pi_first, pi_second, ref_first, ref_second):
        return divergence(sequences(pi_first, pi_second), sequences(ref_first, ref_second))

    return side


def of_tokens(divergence, *, factor=1):
    """The first token's D_f plus E_{x ~ ref} of the second's given x, times the factor, as a side."""

    def side(pi_first, pi_second, ref_first, ref_second):
        later = (ref_first * divergence(pi_second, ref_second)).sum(axis=-1)
        return factor * (divergence(pi_first, ref_first) + later)

    return side


def under_policy_prefixes(divergence):
    def side(pi_first, pi_second, ref_first, ref_second):
        later = (pi_first * divergence(pi_second, ref_second)).sum(axis=-1)
        return divergence(pi_first, ref_first) + later

    return side


def derivation():
    # One sequence xy: the log ratio splits over the tokens. Summed over y the first part leaves the first
    # token's term of x; the second is the second token's term of y, weighted by ref(x). Longer sequences by
    # induction, with the prefix in the place of x.
    p, q, p_given, q_given = sympy.symbols("p q p_x q_x", positive=True)
    sequence = q * q_given * sympy.log(q * q_given / (p * p_given))
    first = q_given * q * sympy.log(q / p)
    second = q * (q_given * sympy.log(q_given / p_given))
    yield Claim("one sequence", sequence - first - second)


THEOREM = Theorem(
    name="B5.chain",
    title="Forward KL of sequences is the sum of token forward KLs under reference prefixes",
    source=Source("li2025choice", "chain rule"),
    statement=r"\sum_t E_{y_{<t}\sim\pi_{ref}} \mathrm{KL}(\pi_{ref}(\cdot|y_{<t})\|\pi(\cdot|y_{<t}))"
    r" = \mathrm{KL}(\pi_{ref}\|\pi)",
    relation=Relation.EQUAL,
    lhs=of_tokens(FORWARD_KL),
    rhs=of_sequences(FORWARD_KL),
    instances=TWO_TOKENS,
    expected=Verdict.PROVED,
    examples=(
        example(
            pi_first=".9 .1", pi_second=[".9 .1", ".5 .5"], ref_first=".1 .9", ref_second=[".1 .9", ".5 .5"]
        ),
    ),
    symbolic=derivation,
    false_neighbours=(
        neighbour("prefixes sampled from the policy", lhs=under_policy_prefixes(FORWARD_KL)),
        neighbour(
            "reverse KL under reference prefixes", lhs=of_tokens(REVERSE_KL), rhs=of_sequences(REVERSE_KL)
        ),
    ),
)
