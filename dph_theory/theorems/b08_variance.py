"""B8: does the generator form never have the larger variance? Refuted, both ways."""

from functools import partial

from ..divergences import FORWARD_KL, JENSEN_SHANNON
from ..references import Source
from ..statement.charts import chart, example, simplex
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from . import _lemmas

COMPARED = (FORWARD_KL, JENSEN_SHANNON)


generator_variance = partial(_lemmas.generator_variance, divergences=COMPARED)
definition_variance = partial(_lemmas.definition_variance, divergences=COMPARED)


THEOREM = Theorem(
    name="B8.variance",
    title="'The generator form never has the larger variance': refuted, forward KL and JS alike",
    source=Source("ours"),
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] \le \mathrm{Var}_\pi[f(u)/u],\quad f \text{ with } f'(1) = 0",
    relation=Relation.AT_MOST,
    lhs=generator_variance,
    rhs=definition_variance,
    instances=chart(pi=simplex(3), ref=simplex(3)),
    expected=Verdict.REFUTED,
    examples=(example(pi=".5 .5", ref=".1 .9"),),
    false_neighbours=(
        neighbour(
            "the definition form never has the larger variance",
            lhs=definition_variance,
            rhs=generator_variance,
            examples=(example(pi=".1 .9", ref=".5 .5"),),
        ),
        neighbour("at most 1e11 times as large", rhs=scaled(definition_variance, 1e11)),
    ),
    note="Neither form dominates: outcomes that gained mass (u > 1) favour the definition form, outcomes that"
    " lost mass (u < 1) the generator form (B8.gap). Under collapse, where modes are lost, it is the latter.",
)
