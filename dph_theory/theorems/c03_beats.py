"""C3: the anchor bound promises more than J_old exactly when its penalty is below delta."""

from ..improvement import anchor_bound
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, lowest
from ..references import Source
from ..statement.neighbours import near
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import TRIPLE, TRIPLES


def promise(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return (1 - mdp.gamma) * (anchor_bound(mdp, pi, pi_old, pi_pef) - mdp.return_(pi_old))


def gain(mdp: TabularMDP, pi_old: Values, pi_pef: Values) -> Values:
    """delta, from action values: the least gain over the states of one action of pi_pef before pi_old."""
    return lowest((pi_pef * mdp.action_value(pi_old)).sum(axis=-1) - mdp.value(pi_old))


def cost(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    values = mdp.action_value(pi_pef)
    return highest(abs(pi - pi_pef).sum(axis=-1) / 2 * (highest(values) - lowest(values)))


def gain_minus_cost(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return gain(mdp, pi_old, pi_pef) - cost(mdp, pi, pi_pef)


def gain_over_horizon(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return gain(mdp, pi_old, pi_pef) / (1 - mdp.gamma) - cost(mdp, pi, pi_pef)


THEOREM = Theorem(
    name="C3.beats",
    title="The anchor bound exceeds J_old iff the penalty is below delta",
    source=Source("ours"),
    statement=r"(1-\gamma)(B_{anchor} - J_{old}) = \delta - c,\quad"
    r" c = \max_s \mathrm{TV}_s\,\mathrm{span} A_{pef}(s,\cdot),\quad\text{so}\quad"
    r" B_{anchor} > J_{old} \iff c < \delta",
    relation=Relation.EQUAL,
    lhs=promise,
    rhs=gain_minus_cost,
    instances=TRIPLES,
    expected=Verdict.CERTIFIED,
    examples=(TRIPLE,),
    floor=0.1,  # Near gamma = 1 values of 1e3 are subtracted.
    false_neighbours=(
        neighbour("iff the penalty is below delta/(1-gamma)", rhs=gain_over_horizon),
        neighbour("iff delta > 0", rhs=gain),
        near(0.01, gamma=(0.52, 0.0002)),
    ),
)
