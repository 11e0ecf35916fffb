"""B4 for both KL divergences: Pinsker's inequality, with the lemma that proves all of the family."""

from ..divergences import FORWARD_KL, REVERSE_KL
from ..references import Source
from ..statement.theorem import Claims, Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import apart, chance, kl_to_first, kl_to_second
from ._lemmas import EDGED_PAIR, PAIRS, gilardoni, pinsker_bounds, squared_variation


def derivation() -> Claims:
    for divergence in (FORWARD_KL, REVERSE_KL):
        yield from gilardoni(divergence.name, divergence.expression)


THEOREM = Theorem(
    name="B4.kl",
    title="Pinsker: TV^2 <= KL/2, in both directions",
    source=Source("gilardoni2010pinsker", "forward and reverse KL"),
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \tfrac12 D_f,\quad"
    r" D_f \in \{\mathrm{KL}(\pi_{ref}\|\pi),\; \mathrm{KL}(\pi\|\pi_{ref})\}",
    relation=Relation.AT_MOST,
    lhs=squared_variation,
    rhs=pinsker_bounds((FORWARD_KL, REVERSE_KL)),
    instances=EDGED_PAIR,
    expected=Verdict.PROVED,
    given=("L1.cauchy", "L1.rising"),
    examples=PAIRS,
    symbolic=derivation,
    tight=True,
    # Both sides are second order at pi = ref, where the bound is tight.
    floor=1e-12,
    reductions=apart(
        "two outcomes",
        lambda first, second: {"pi": first, "ref": second},
        lambda odds, drop: [
            kl(odds, drop) / 2 - chance(odds) * drop * drop for kl in (kl_to_first, kl_to_second)
        ],
    ),
    false_neighbours=(
        neighbour("forward KL, constant cut by 2%", rhs=scaled(pinsker_bounds((FORWARD_KL,)), 0.98)),
        neighbour("reverse KL, constant cut by 2%", rhs=scaled(pinsker_bounds((REVERSE_KL,)), 0.98)),
    ),
)
