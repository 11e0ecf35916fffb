"""C3: without a future (gamma = 0) the anchor bound never beats TRPO's, which is then the return itself."""

from ..improvement import anchor_bound, trpo_bound
from ..mdp import TabularMDP
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import EVEN, SMALL_TRIPLES, TRIPLE


def without_future(P: Values, r: Values, rho0: Values) -> dict[str, TabularMDP]:
    """The MDP at gamma = 0."""
    return {"mdp": TabularMDP(P, r, 0 * rho0[..., 0], rho0)}


def half_discounted(P: Values, r: Values, rho0: Values) -> dict[str, TabularMDP]:
    """The MDP at gamma = 1/2."""
    return {"mdp": TabularMDP(P, r, 0.5 + 0 * rho0[..., 0], rho0)}


DISCOUNT_APART = chart(**{name: part for name, part in SMALL_TRIPLES.parts.items() if name != "gamma"})


THEOREM = Theorem(
    name="C3.myopic",
    title="At gamma = 0 the anchor bound never beats TRPO's",
    source=Source("ours"),
    statement=r"\gamma = 0 \implies B_{anchor} \le B_{TRPO} = J(\pi)",
    relation=Relation.AT_MOST,
    lhs=anchor_bound,
    rhs=trpo_bound,
    instances=DISCOUNT_APART.deriving(without_future),
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=tuple(
        {name: part for name, part in given.items() if name != "gamma"} for given in (TRIPLE, EVEN)
    ),
    false_neighbours=(
        neighbour("at gamma = 1/2 neither", instances=DISCOUNT_APART.deriving(half_discounted)),
        neighbour("TRPO's never beats the anchor bound", lhs=trpo_bound, rhs=anchor_bound),
        neighbour("not even with 0.01% of TRPO's bound taken off", rhs=scaled(trpo_bound, 0.9999)),
    ),
)
