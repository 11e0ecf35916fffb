"""C3: the anchor bound for the whole family, 2 eps_pef sqrt(alpha2/(2 f''(1))) in place of the maximum."""

import numpy as np

from ..divergences import COMPARED, each
from ..improvement import anchor_penalty, pinsker_constant, weighted, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, trailing
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import EVEN, SMALL_TRIPLES, TRIPLE, shortfall


def shortfalls(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    return trailing(shortfall(mdp, pi, pi_old, pi_pef), 1)


def penalties(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return each(lambda d: anchor_penalty(mdp, pi, pi_pef, d), COMPARED)


def second_order(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    """The form of C2's penalty: linear in the divergence."""
    eps = worst_advantage(mdp, pi_pef)
    return each(lambda d: weighted(eps * pinsker_constant(d), highest(d(pi, pi_pef))), COMPARED)


def without_curvature(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    eps = worst_advantage(mdp, pi_pef)
    return each(lambda d: weighted(2 * eps, np.sqrt(highest(d(pi, pi_pef)) / 2)), COMPARED)


THEOREM = Theorem(
    name="C3.divergence",
    title="Anchor bound for the family: penalty 2 eps_pef sqrt(max_s D_f(pi || pi_pef)/(2 f''(1)))",
    source=Source("ours", "with gilardoni2010pinsker"),
    statement=r"J(\pi) \ge J_{old} + \frac{\delta - 2\epsilon_{pef}\sqrt{\alpha_2/(2f''(1))}}{1-\gamma},"
    r"\quad \alpha_2 = \max_s D_f(\pi\|\pi_{pef})",
    relation=Relation.AT_MOST,
    lhs=shortfalls,
    rhs=penalties,
    instances=SMALL_TRIPLES,
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(TRIPLE, EVEN),
    false_neighbours=(
        neighbour("linear in the divergence, as in C2", rhs=second_order),
        neighbour("f''(1) = 1 for Jensen-Shannon as well", rhs=without_curvature),
    ),
)
