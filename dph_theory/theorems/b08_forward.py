"""B8: does the generator form never have the larger variance? For the forward KL: refuted, both ways."""

from ..divergences import FORWARD_KL
from ..estimators import definition_form, generator_form
from ..instances import chart, example, simplex
from ..references import Source
from ..theorem import Relation, Theorem, Verdict, neighbour


def generator_variance(pi, ref):
    return generator_form(FORWARD_KL, pi, ref).variance


def definition_variance(pi, ref):
    return definition_form(FORWARD_KL, pi, ref).variance


THEOREM = Theorem(
    name="B8.forward",
    title="Forward KL: 'the generator form never has the larger variance' is refuted",
    source=Source("ours"),
    statement=r"\mathrm{Var}_{\pi_{ref}}[f(u)] \le \mathrm{Var}_\pi[f(u)/u],\quad f(u) = u - 1 - \log u",
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
    ),
    note="Neither form dominates: outcomes that gained mass (u > 1) favour the definition form, outcomes that"
    " lost mass (u < 1) the generator form (B8.gap). Under collapse, where modes are lost, it is the latter.",
)
