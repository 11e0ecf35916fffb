"""E3, fourth claim: what local filtering costs, prefix by prefix."""

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, local_filter


def of_answers(first: Values, second: Values, valid: Values) -> Values:
    law, _ = local_filter(first, second, valid)
    return REVERSE_KL(answers_of(law), answers_of([first, second]))


def of_prefixes(first: Values, second: Values, valid: Values) -> Values:
    """E_loc[-sum_t log alive mass(s_t)]."""
    law, (head, tail) = local_filter(first, second, valid)
    return -np.log(head) - (law[0] * np.log(tail)).sum(axis=-1)


def under_the_base(first: Values, second: Values, valid: Values) -> Values:
    """The same masses averaged over the base's prefixes."""
    _, (head, tail) = local_filter(first, second, valid)
    return -np.log(head) - (first * np.log(tail)).sum(axis=-1)


def derivation() -> Claims:
    # One answer of mass loc: a prefix of any length, whose ratio to the base is 1/m, and its next token,
    # m_x being the mass kept after the prefix. By induction the ratio is one over the product of the masses
    # kept.
    a, a_x, m, m_x = sympy.symbols("a a_x m m_x", positive=True)
    ratio = (a / m) * (a_x / m_x) / (a * a_x)
    yield Claim("log loc/a on one answer", sympy.log(ratio), equals=-sympy.log(m) - sympy.log(m_x))


THEOREM = Theorem(
    name="E3.cost",
    title="KL(loc || a) is the mean, under loc, of -log of the mass kept at each prefix",
    source=Source("ours", "laws of training"),
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = E_{loc}\big[-\textstyle\sum_t \log"
    r" \sum_{t' \text{ kept}} a(t'|s_t)\big]",
    relation=Relation.EQUAL,
    lhs=of_answers,
    rhs=of_prefixes,
    instances=TREES,
    expected=Verdict.PROVED,
    examples=(TWO_TOKENS,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("averaged over the base's prefixes", rhs=under_the_base),
        near(0.01, beta=(1.7, 0.003)),
    ),
)
