"""E3, fourth claim: what local filtering costs, prefix by prefix."""

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import STRING, STRINGS, answers_of, flat, local_filter


def of_answers(base: list[Values], verdicts: Values) -> Values:
    law, _ = local_filter(base, verdicts)
    return REVERSE_KL(answers_of(law), answers_of(base))


def of_prefixes(base: list[Values], verdicts: Values) -> Values:
    """E_loc[-sum_t log alive mass(s_t)]."""
    law, masses = local_filter(base, verdicts)
    return _mean_surprise(law, masses)


def under_the_base(base: list[Values], verdicts: Values) -> Values:
    """The same masses averaged over the base's prefixes."""
    return _mean_surprise(base, local_filter(base, verdicts)[1])


def at_the_start_alone(base: list[Values], verdicts: Values) -> Values:
    """-log of the mass kept at the first token, as if the later ones never ran dry."""
    return -np.log(local_filter(base, verdicts)[1][0])


def _mean_surprise(law: list[Values], masses: list[Values]) -> Values:
    total, reach = -np.log(masses[0]), law[0]
    for table, mass in zip(law[1:], masses[1:], strict=True):
        total = total - flat(reach * np.log(mass)).sum(axis=-1)
        reach = reach[..., None] * table
    return total


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
    instances=STRINGS,
    expected=Verdict.PROVED,
    examples=(STRING,),
    symbolic=derivation,
    false_neighbours=(
        neighbour("averaged over the base's prefixes", rhs=under_the_base),
        neighbour("the first token's alone", rhs=at_the_start_alone),
        masses_clamped("first", 0.01),
    ),
)
