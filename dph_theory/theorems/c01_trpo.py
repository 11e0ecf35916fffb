"""C1: TRPO's improvement bound with the total variation."""

from ..improvement import trpo_penalty
from ..mdp import TabularMDP
from ..references import Source
from ..statement.charts import chart, discounts, example, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .c01_attained import FAMILY, loss_of_worst_case, scaled_loss, worst_case

STEPS = chart(
    P=simplex(2, 2, 2),
    r=uniform(-1, 1, 2, 2),
    gamma=discounts(nearest=1e-3),
    rho0=simplex(2),
    pi=simplex(2, 2),
    pi_old=simplex(2, 2),
)
"""A step from an old to a new policy in an MDP of two states and two actions."""
STEP = example(
    P=[["1 0", "0 1"], ["1 0", "0 1"]],
    r=["-1 1", "1 -1"],
    gamma=".5",
    rho0=".5 .5",
    pi=[".4 .6", ".4 .6"],
    pi_old=[".5 .5", ".5 .5"],
)


def penalty(P, r, gamma, rho0, pi, pi_old):
    return (1 - gamma) ** 2 * trpo_penalty(TabularMDP(P, r, gamma, rho0), pi, pi_old)


def penalty_of_worst_case(gamma, tv, eps):
    return penalty(**worst_case(gamma, tv, eps))


THEOREM = Theorem(
    name="C1.trpo",
    title="TRPO: J(pi) >= L_old(pi) - 4 eps gamma TVmax^2/(1-gamma)^2",
    source=Source("schulman2015trpo"),
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{4\epsilon\gamma\max_s \mathrm{TV}_s^2}{(1-\gamma)^2},"
    r"\quad \epsilon = \max|A_{old}|",
    relation=Relation.AT_MOST,
    lhs=scaled_loss,
    rhs=penalty,
    instances=STEPS,
    expected=Verdict.CERTIFIED,
    examples=(STEP,),
    false_neighbours=(
        neighbour(
            "a constant 2% smaller, on the worst chain",
            instances=FAMILY,
            examples=(),
            lhs=loss_of_worst_case,
            rhs=lambda gamma, tv, eps: 0.98 * penalty_of_worst_case(gamma, tv, eps),
        ),
        neighbour(
            "one factor of 1/(1-gamma), on the worst chain",
            instances=FAMILY,
            examples=(),
            lhs=loss_of_worst_case,
            rhs=lambda gamma, tv, eps: (1 - gamma) * penalty_of_worst_case(gamma, tv, eps),
        ),
    ),
    note="On the chain of C1.attained the ratio of the two sides is 1 - gamma over 1 - gamma + gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
)
