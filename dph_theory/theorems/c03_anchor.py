"""C3: the anchor bound, which repairs C2: what closeness to a better policy, the anchor, guarantees."""

from ..divergences import TOTAL_VARIATION
from ..improvement import anchor_penalty, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import TRIPLE, TRIPLES, shortfall


def penalty(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    # J(pef) >= J_old + delta/(1-g), and J(pef) - J(pi) = sum_s d_pi(s) (E_pef - E_pi) A_pef(s, .)/(1-g):
    # no second power of 1/(1-g), since the error is averaged under the new policy's own visitation.
    return anchor_penalty(mdp, pi, pi_pef)


def with_largest_advantage(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return highest(TOTAL_VARIATION(pi, pi_pef)) * worst_advantage(mdp, pi_pef)


def squared_distance(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return highest(TOTAL_VARIATION(pi, pi_pef)) * penalty(mdp, pi, pi_pef)


THEOREM = Theorem(
    name="C3.anchor",
    title="Anchor bound: J(pi) >= J_old + (delta - max_s TV_s(pi, pi_pef) span A_pef(s, .))/(1-gamma)",
    source=Source("ours"),
    statement=r"J(\pi) \ge J_{old} + \frac{\delta - \max_s \mathrm{TV}_s(\pi, \pi_{pef})\,"
    r"\mathrm{span} A_{pef}(s,\cdot)}{1-\gamma},\quad \delta = \min_s E_{\pi_{pef}} A_{old}(s,\cdot)",
    relation=Relation.AT_MOST,
    lhs=shortfall,
    rhs=penalty,
    instances=TRIPLES,
    expected=Verdict.CERTIFIED,
    tight=True,
    examples=(TRIPLE,),
    floor=0.01,  # Near gamma = 1 returns of 1e3 are subtracted.
    false_neighbours=(
        neighbour(
            "a penalty 2% smaller",
            rhs=scaled(penalty, 0.98),
        ),
        neighbour("the largest advantage in place of the span", rhs=with_largest_advantage),
        neighbour("second order in the distance, as TRPO's penalty is", rhs=squared_distance),
    ),
)
