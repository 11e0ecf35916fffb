"""C3: the larger of TRPO's bound and the anchor bound holds, and so does any mixture; their sum does not."""

import numpy as np

from ..improvement import anchor_bound, anchor_gain, anchor_penalty, best_bound, trpo_bound
from ..mdp import TabularMDP
from ..numeric.balls import Values, trailing
from ..references import Source
from ..statement.charts import chart, example, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from ._mdps import TRIPLE, TRIPLES, normalised_return, with_mdp


def best_and_mixture(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values, weight: Values) -> Values:
    mixture = weight * trpo_bound(mdp, pi, pi_old) + (1 - weight) * anchor_bound(mdp, pi, pi_old, pi_pef)
    return trailing(1 - mdp.gamma, 1) * np.stack([best_bound(mdp, pi, pi_old, pi_pef), mixture], axis=-1)


def both_gains(mdp: TabularMDP, pi: Values, pi_old: Values, pi_pef: Values) -> Values:
    anchored = anchor_gain(mdp, pi_old, pi_pef) - anchor_penalty(mdp, pi, pi_pef)
    return trailing((1 - mdp.gamma) * trpo_bound(mdp, pi, pi_old) + anchored, 1)


THEOREM = Theorem(
    name="C3.maximum",
    title="The maximum of the TRPO and anchor bounds holds, and any convex combination",
    source=Source("ours"),
    statement=r"J(\pi) \ge \max(B_{TRPO}, B_{anchor}),\quad"
    r" J(\pi) \ge w B_{TRPO} + (1-w) B_{anchor},\; 0 \le w \le 1",
    relation=Relation.AT_MOST,
    lhs=best_and_mixture,
    rhs=lambda mdp, pi: trailing(normalised_return(mdp, pi), 1),
    instances=chart(**TRIPLES.parts, weight=uniform(0, 1)).deriving(with_mdp),
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=({**TRIPLE, **example(weight=".5")},),
    floor=0.1,  # Rounding of (1-gamma) J is relative to the scale of the rewards, not to J itself.
    false_neighbours=(
        neighbour("the gains of both bounds added, as C2 adds them", lhs=both_gains),
        neighbour(
            "a combination that is not convex",
            instances=chart(**TRIPLES.parts, weight=uniform(1, 2)).deriving(with_mdp),
        ),
    ),
)
