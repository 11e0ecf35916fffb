"""C1: TRPO's improvement bound with the total variation."""

from ..numeric.balls import Values
from ..references import Source
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._mdps import (
    STEP,
    STEPS,
    WORST_CHAINS,
    loss_of_worst_chain,
    scaled_loss,
    scaled_trpo_penalty,
    worst_chain,
)


def penalty_of_worst_case(gamma: Values, tv: Values, eps: Values) -> Values:
    return scaled_trpo_penalty(**worst_chain(gamma, tv, eps))


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
            "a constant 2% smaller, on the worst chain",
            instances=WORST_CHAINS,
            examples=(),
            lhs=loss_of_worst_chain,
            rhs=scaled(penalty_of_worst_case, 0.98),
        ),
        neighbour(
            "one factor of 1/(1-gamma), on the worst chain",
            instances=WORST_CHAINS,
            examples=(),
            lhs=loss_of_worst_chain,
            rhs=lambda gamma, tv, eps: (1 - gamma) * penalty_of_worst_case(gamma, tv, eps),
        ),
    ),
    note="On the chain of C1.attained the ratio of the two sides is 1 - gamma over 1 - gamma + gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
)
