"""C3: without a future (gamma = 0) the anchor bound never beats TRPO's, which is then the return itself."""

from ..improvement import anchor_bound, trpo_bound
from ..mdp import TabularMDP
from ..numeric.balls import Values
from ..references import Source
from ..statement.charts import chart, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import TRIPLE


def discounted(P: Values, r: Values, rho0: Values, gamma: Values | float) -> TabularMDP:
    return TabularMDP(P, r, gamma + 0 * rho0[..., 0], rho0)


def anchor(P: Values, r: Values, rho0: Values, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return anchor_bound(discounted(P, r, rho0, 0), pi, pi_old, pi_pef)


def trpo(P: Values, r: Values, rho0: Values, pi: Values, pi_old: Values) -> Values:
    return trpo_bound(discounted(P, r, rho0, 0), pi, pi_old)


def anchor_with_a_future(
    P: Values, r: Values, rho0: Values, pi: Values, pi_old: Values, pi_pef: Values
) -> Values:
    return anchor_bound(discounted(P, r, rho0, 0.5), pi, pi_old, pi_pef)


def trpo_with_a_future(P: Values, r: Values, rho0: Values, pi: Values, pi_old: Values) -> Values:
    return trpo_bound(discounted(P, r, rho0, 0.5), pi, pi_old)


THEOREM = Theorem(
    name="C3.myopic",
    title="At gamma = 0 the anchor bound never beats TRPO's",
    source=Source("ours"),
    statement=r"\gamma = 0 \implies B_{anchor} \le B_{TRPO} = J(\pi)",
    relation=Relation.AT_MOST,
    lhs=anchor,
    rhs=trpo,
    instances=chart(
        P=simplex(2, 2, 2),
        r=uniform(-1, 1, 2, 2),
        rho0=simplex(2),
        pi=simplex(2, 2),
        pi_old=simplex(2, 2),
        pi_pef=simplex(2, 2),
    ),
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=({name: part for name, part in TRIPLE.items() if name != "gamma"},),
    false_neighbours=(
        neighbour("at gamma = 1/2 neither", lhs=anchor_with_a_future, rhs=trpo_with_a_future),
        neighbour("TRPO's never beats the anchor bound", lhs=trpo, rhs=anchor),
    ),
)
