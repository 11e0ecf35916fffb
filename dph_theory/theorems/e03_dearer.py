"""E3, fifth claim: local filtering is never closer to the base than the filtered model is."""

from typing import Any

import numpy as np
import sympy

from ..divergences import REVERSE_KL
from ..numeric.balls import Values
from ..numeric.boxes import Scalar
from ..references import Source
from ..statement.neighbours import masses_clamped
from ..statement.theorem import Claim, Claims, Relation, Theorem, Verdict, neighbour
from ._boxes import DROP, ODDS, RATE, Law, both_ways, kl_to_second, mass
from ._laws import TREES, TWO_TOKENS, answers_of, flat, local_filter, verifier


def filtering_cost(first: Values, second: Values, valid: Values) -> Values:
    """-log A1 = KL(p_* || a)."""
    answers = answers_of([first, second])
    return -np.log(np.where(flat(verifier(first, valid)), answers, 0 * answers).sum(axis=-1))


def local_cost(first: Values, second: Values, valid: Values) -> Values:
    law, _ = local_filter([first, second], verifier(first, valid))
    return REVERSE_KL(answers_of(law), answers_of([first, second]))


def derivation() -> Claims:
    # Term by term KL(loc||a) = KL(loc||p_*) - log A1, p_* = a/A1 where loc lives; and KL(loc||p_*) >= 0
    # (L1.gibbs).
    loc, a, A1 = sympy.symbols("loc a A1", positive=True)
    split = loc * sympy.log(loc / (a / A1)) - loc * sympy.log(A1)
    yield Claim("Pythagoras, one answer", loc * sympy.log(loc / a), equals=split)


def one_kept_each(first: Law, second: Law, share: Scalar) -> dict[str, Any]:
    ratios = [after / before for before, after in zip(first, second, strict=True)]
    kept = [share * ratio / sum(ratios) for ratio in ratios]
    rows = [[likely, 1 - likely] for likely in kept]
    return {"first": first, "second": rows, "valid": [[True, False], [True, False]]}


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
    reductions=both_ways(
        "two first tokens, each with one valid continuation, whose chances are as the two laws' ratios",
        {"odds": ODDS, "drop": DROP},
        one_kept_each,
        gap=lambda odds, drop: [kl_to_second(odds, drop)],
        factor=mass,
        zero=("drop", 2),
        free={"share": RATE},
    ),
    false_neighbours=(
        neighbour("2% more", lhs=lambda first, second, valid: 1.02 * filtering_cost(first, second, valid)),
        neighbour("the other way round", lhs=local_cost, rhs=filtering_cost),
        masses_clamped("first", 0.03),
    ),
)
