"""C2: the stated "enhanced monotonic improvement" bound, with the advantage of the old policy."""

from ..divergences import FORWARD_KL
from ..improvement import pinsker_constant, stated_bound, worst_advantage
from ..instances import chart, discounts, example, simplex, uniform
from ..mdp import TabularMDP
from ..numerics import highest
from ..references import Source
from ..theorem import Relation, Theorem, Verdict, neighbour


def right_side(P, r, gamma, rho0, pi, pi_old, pi_pef):
    return stated_bound(TabularMDP(P, r, gamma, rho0), pi, pi_old, pi_pef, FORWARD_KL)


def with_larger_constant(P, r, gamma, rho0, pi, pi_old, pi_pef):
    mdp = TabularMDP(P, r, gamma, rho0)
    stated = stated_bound(mdp, pi, pi_old, pi_pef, FORWARD_KL)
    penalty = highest(FORWARD_KL(pi, pi_pef)) * worst_advantage(mdp, pi_pef) * gamma / (1 - gamma) ** 2
    return stated - 9 * pinsker_constant(FORWARD_KL) * penalty


def true_return(P, r, gamma, rho0, pi):
    return TabularMDP(P, r, gamma, rho0).return_(pi)


THEOREM = Theorem(
    name="C2.old",
    title="The stated bound with delta below E_pef A_old: refuted",
    source=Source("li2025choice", "Theorem 1"),
    statement=r"J(\pi) \ge L_{old}(\pi) - \tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
    r" + \tfrac{\delta}{1-\gamma} - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2}",
    relation=Relation.AT_MOST,
    lhs=right_side,
    rhs=true_return,
    instances=chart(
        P=simplex(2, 2, 2),
        r=uniform(-1, 1, 2, 2),
        gamma=discounts(),
        rho0=simplex(2),
        pi=simplex(2, 2),
        pi_old=simplex(2, 2),
        pi_pef=simplex(2, 2),
    ),
    expected=Verdict.REFUTED,
    examples=(
        example(
            P=[["1 ", "1 "]],
            r=["1 0"],
            gamma=".9",
            rho0="1 ",
            pi=[".5 .5"],
            pi_old=[".5 .5"],
            pi_pef=[".54 .46"],
        ),
    ),
    false_neighbours=(neighbour("a constant C_f ten times larger", lhs=with_larger_constant),),
)
