"""C1: TRPO's improvement bound with the total variation."""

from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import (
    STEP,
    STEPS,
    scaled_loss,
    scaled_trpo_penalty,
)

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
    expected=Verdict.CERTIFIED,
    examples=(STEP,),
    false_neighbours=(
        neighbour(
            "a constant 2% smaller",
            rhs=scaled(scaled_trpo_penalty, 0.98),
        ),
        neighbour(
            "one factor of 1/(1-gamma)",
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * scaled_trpo_penalty(mdp, pi, pi_old),
        ),
    ),
    note="On the chain of C1.attained the ratio of the two sides is 1 - gamma over 1 - gamma + gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
)
