"""C3: the anchor bound, which repairs C2: what closeness to a better policy, the anchor, guarantees."""

from typing import Any

from flint import arb

from ..divergences import TOTAL_VARIATION
from ..improvement import anchor_penalty, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import DROP, GAMMA, ODDS, chance
from ._mdps import TRIPLE, TRIPLES, shortfall


def with_largest_advantage(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return highest(TOTAL_VARIATION(pi, pi_pef)) * worst_advantage(mdp, pi_pef)


def squared_distance(mdp: TabularMDP, pi: Values, pi_pef: Values) -> Values:
    return highest(TOTAL_VARIATION(pi, pi_pef)) * anchor_penalty(mdp, pi, pi_pef)


def chances(odds: Scalar, drop: Scalar, share: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Of the first action under pi_pef, pi and pi_old: q, q(1-s) and, on the way there, q(1-ws)."""
    q = chance(odds)
    return q, q * (1 - drop), q * (1 - share * drop)


def paid_until_it_leaves(gamma: Scalar, odds: Scalar, drop: Scalar, share: Scalar) -> dict[str, Any]:
    """State 0 pays for its first action and keeps it; the other actions lead to where nothing is paid."""
    one, zero = arb(1), arb(0)
    stay, leave = [one, zero, zero], [zero, one, zero]
    likely = zip(("pi_pef", "pi", "pi_old"), chances(odds, drop, share), strict=True)
    return {
        "P": [[stay, leave, leave], [leave] * 3, [leave] * 3],
        "r": [[one, zero, zero], [zero] * 3, [zero] * 3],
        "gamma": gamma,
        "rho0": stay,
        **{name: [[p, 1 - p, zero], stay, stay] for name, p in likely},
    }


def gap(gamma: Scalar, odds: Scalar, drop: Scalar, share: Scalar) -> list[Scalar]:
    """(1-gp)(1-gp_old) - (1-w)(1-g)(1-gq) as a sum without a negative term."""
    (q, p, old), rest = chances(odds, drop, share), 1 / (1 + odds)
    nearer = (1 - gamma * p) * q * share * drop + (1 - gamma * q) * (rest + q * drop)
    return [share * (1 - gamma * p) * (1 - gamma * old) + (1 - share) * gamma * nearer]


def in_common(gamma: Scalar, odds: Scalar, drop: Scalar, share: Scalar) -> list[Scalar]:
    q, p, old = chances(odds, drop, share)
    return [q * drop / ((1 - gamma * q) * (1 - gamma * p) * (1 - gamma * old))]


THEOREM = Theorem(
    name="C3.anchor",
    title="Anchor bound: J(pi) >= J_old + (delta - max_s TV_s(pi, pi_pef) span A_pef(s, .))/(1-gamma)",
    source=Source("ours"),
    statement=r"J(\pi) \ge J_{old} + \frac{\delta - \max_s \mathrm{TV}_s(\pi, \pi_{pef})\,"
    r"\mathrm{span} A_{pef}(s,\cdot)}{1-\gamma},\quad \delta = \min_s E_{\pi_{pef}} A_{old}(s,\cdot)",
    relation=Relation.AT_MOST,
    lhs=shortfall,
    # J(pef) >= J_old + delta/(1-g), and J(pef) - J(pi) = sum_s d_pi(s) (E_pef - E_pi) A_pef(s, .)/(1-g):
    # no second power of 1/(1-g), since the error is averaged under the new policy's own visitation.
    rhs=anchor_penalty,
    instances=TRIPLES,
    expected=Verdict.ENCLOSED,
    tight=True,
    examples=(TRIPLE,),
    reductions=(
        Reduction(
            "one state that is left for good, the anchor q = odds/(1 + odds), pi lower, pi_old between them",
            {"gamma": GAMMA, "odds": ODDS, "drop": DROP, "share": linear("0", "1")},
            paid_until_it_leaves,
            gap=gap,
            factor=in_common,
        ),
    ),
    floor=0.01,  # Near gamma = 1 returns of 1e3 are subtracted.
    false_neighbours=(
        neighbour("a penalty 2% smaller", rhs=scaled(anchor_penalty, 0.98)),
        neighbour("the largest advantage in place of the span", rhs=with_largest_advantage),
        neighbour("second order in the distance, as TRPO's penalty is", rhs=squared_distance),
    ),
)
