"""B4 for the Jensen-Shannon generator, f''(1) = 1/2: TV^2 is at most the generator's divergence itself."""

from functools import partial

from ..divergences import JENSEN_SHANNON, SMOOTH
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import apart, chance
from ._generators import BETWEEN
from ._lemmas import EDGED_PAIR, PAIRS, gilardoni, pinsker_bounds, squared_variation

JS = SMOOTH.index(JENSEN_SHANNON)

THEOREM = Theorem(
    name="B4.js",
    title="TV^2 <= D_JS for the Jensen-Shannon generator (twice the divergence)",
    source=Source("gilardoni2010pinsker", "Jensen-Shannon"),
    statement=r"\mathrm{TV}^2 \le \frac{D_f}{2 f''(1)} = \mathrm{KL}(\pi\|m) + \mathrm{KL}(\pi_{ref}\|m)",
    relation=Relation.AT_MOST,
    lhs=squared_variation,
    rhs=pinsker_bounds((JENSEN_SHANNON,)),
    instances=EDGED_PAIR,
    expected=Verdict.PROVED,
    given=("L1.cauchy", "L1.rising"),
    examples=PAIRS,
    symbolic=partial(gilardoni, JENSEN_SHANNON.name, JENSEN_SHANNON.expression),
    tight=True,
    floor=1e-12,
    reductions=apart(
        "two outcomes",
        lambda first, second: {"pi": second, "ref": first},
        lambda odds, drop: [BETWEEN[JS](odds, drop)[0] - chance(odds) * drop * drop],
    ),
    false_neighbours=(
        neighbour("constant cut by 2%", rhs=scaled(pinsker_bounds((JENSEN_SHANNON,)), 0.98)),
        neighbour("the constant of the KLs, f''(1) = 1", rhs=scaled(pinsker_bounds((JENSEN_SHANNON,)), 0.5)),
    ),
)
