"""C1: TRPO's improvement bound with the total variation."""

from ..numeric.boxes import linear
from ..references import Source
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._boxes import GAMMA
from ._mdps import STEP, STEPS, chain, scaled_loss, scaled_trpo_penalty

THEOREM = Theorem(
    name="C1.trpo",
    title="TRPO: J(pi) >= L_old(pi) - 4 eps gamma TVmax^2/(1-gamma)^2",
    source=Source("schulman2015trpo"),
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{4\epsilon\gamma\max_s \mathrm{TV}_s^2}{(1-\gamma)^2},"
    r"\quad \epsilon = \max|A_{old}|",
    relation=Relation.AT_MOST,
    lhs=scaled_loss,
    rhs=scaled_trpo_penalty,
    instances=STEPS,
    expected=Verdict.ENCLOSED,
    examples=(STEP,),
    reductions=(
        Reduction(
            "the chain of C1.attained, two states and three actions",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5")},
            chain,
            gap=lambda gamma, tv: [1 / (1 - gamma + gamma * tv)],
            factor=lambda gamma, tv, eps: [4 * eps * gamma * gamma * tv * tv * tv],
            free={"eps": linear("0.01", "1")},
        ),
    ),
    false_neighbours=(
        neighbour("a constant 2% smaller", rhs=scaled(scaled_trpo_penalty, 0.98)),
        neighbour(
            "one factor of 1/(1-gamma)",
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * scaled_trpo_penalty(mdp, pi, pi_old),
        ),
    ),
    note="On the chain of C1.attained the ratio of the two sides is 1 - gamma over 1 - gamma + gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
)
