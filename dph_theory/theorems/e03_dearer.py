"""E3, fifth claim: local filtering is never closer to the base than the filtered model is."""

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._laws import TREES, TWO_TOKENS, answers_of, flat, local_filter, verifier


def filtering_cost(first: Values, second: Values, valid: Values) -> Values:
    """-log A1 = KL(p_* || a)."""
    answers = answers_of([first, second])
    return -np.log(np.where(flat(verifier(first, valid)), answers, 0 * answers).sum(axis=-1))


def local_cost(first: Values, second: Values, valid: Values) -> Values:
    law, _ = local_filter(first, second, valid)
    return REVERSE_KL(answers_of(law), answers_of([first, second]))


def derivation() -> Claims:
    # Term by term KL(loc||a) = KL(loc||p_*) - log A1, p_* = a/A1 where loc lives; and KL(loc||p_*) >= 0
    # (L1.gibbs).
    loc, a, A1 = sympy.symbols("loc a A1", positive=True)
    split = loc * sympy.log(loc / (a / A1)) - loc * sympy.log(A1)
    yield Claim("Pythagoras, one answer", loc * sympy.log(loc / a), equals=split)


THEOREM = Theorem(
    name="E3.dearer",
    title="KL(loc || a) >= -log A1 = KL(p_* || a), with equality iff loc = p_*",
    source=Source("ours", "laws of training"),
    statement=r"\mathrm{KL}(\mathrm{loc}\|a) = \mathrm{KL}(\mathrm{loc}\|p_*) - \log A_1 \ge -\log A_1",
    relation=Relation.AT_MOST,
    lhs=filtering_cost,
    rhs=local_cost,
    instances=TREES,
    expected=Verdict.PROVED,
    given=("L1.gibbs",),
    examples=(TWO_TOKENS,),
    symbolic=derivation,
    tight=True,
    false_neighbours=(
        neighbour("2% more", lhs=lambda first, second, valid: 1.02 * filtering_cost(first, second, valid)),
        neighbour("the other way round", lhs=local_cost, rhs=filtering_cost),
        near(-0.01, beta=(1.7, 0.006)),
    ),
)
