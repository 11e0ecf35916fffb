"""B4 for the Jensen-Shannon generator, f''(1) = 1/2: TV^2 is at most the generator's divergence itself."""

from ..divergences import JENSEN_SHANNON
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b04_kl import EXAMPLES, PAIR, bounds, derivation_for, squared_distance


def derivation():
    yield from derivation_for(JENSEN_SHANNON.name, JENSEN_SHANNON.expression)


THEOREM = Theorem(
    name="B4.js",
    title="TV^2 <= D_JS for the Jensen-Shannon generator (twice the divergence)",
    source=Source("gilardoni2010pinsker", "Jensen-Shannon"),
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \mathrm{KL}(\pi\|m) + \mathrm{KL}(\pi_{ref}\|m)",
    relation=Relation.AT_MOST,
    lhs=squared_distance,
    rhs=bounds((JENSEN_SHANNON,)),
    instances=PAIR,
    expected=Verdict.PROVED,
    examples=EXAMPLES,
    symbolic=derivation,
    tight=True,
    floor=1e-12,
    false_neighbours=(
        neighbour("constant cut by 2%", rhs=bounds((JENSEN_SHANNON,), factor=0.98)),
        neighbour("the constant of the KLs, f''(1) = 1", rhs=bounds((JENSEN_SHANNON,), factor=0.5)),
    ),
)
