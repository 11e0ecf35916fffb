"""C2: the stated "enhanced monotonic improvement" bound, delta read as the advantage of the old policy."""

from ..divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from ..improvement import pinsker_constant, stated_bound, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import highest, lowest, trailing
from ..references import Source
from ..statement.charts import chart, discounts, example, simplex, uniform
from ..statement.theorem import Relation, Theorem, Verdict, neighbour
from .b01_convex import each

STATED = (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON)
TRIPLES = chart(
    P=simplex(2, 2, 2),
    r=uniform(-1, 1, 2, 2),
    gamma=discounts(nearest=1e-3),
    rho0=simplex(2),
    pi=simplex(2, 2),
    pi_old=simplex(2, 2),
    pi_pef=simplex(2, 2),
)
"""A new, an old and a reference policy in an MDP of two states and two actions."""
COUNTEREXAMPLE = example(
    P=[["1 ", "1 "]],
    r=["1 0"],
    gamma=".9",
    rho0="1 ",
    pi=[".5 .5"],
    pi_old=[".5 .5"],
    pi_pef=[".54 .46"],
)
"""One state, two actions, nothing learnt yet, and a reference policy that is 0.04 better."""


def stated_bounds(mdp, pi, pi_old, pi_pef, reading, constant=1):
    """The three right sides times 1-gamma, shape (batch, 3), with C_f times the given constant."""
    forward = stated_bound(mdp, pi, pi_old, pi_pef, FORWARD_KL, reading)
    # Only the last term depends on the divergence.
    eps, gamma = worst_advantage(mdp, pi_pef), mdp.gamma
    terms = each(lambda d: pinsker_constant(d) * highest(d(pi, pi_pef)), STATED)
    gain = terms[..., :1] - constant * terms
    return trailing((1 - gamma) * forward, 1) + trailing(eps * gamma / (1 - gamma), 1) * gain


def least_bound(P, r, gamma, rho0, pi, pi_old, pi_pef):
    """The least of the three: where it exceeds the return, all three do."""
    return lowest(stated_bounds(TabularMDP(P, r, gamma, rho0), pi, pi_old, pi_pef, "old"))


def with_larger_constant(P, r, gamma, rho0, pi, pi_old, pi_pef):
    return lowest(stated_bounds(TabularMDP(P, r, gamma, rho0), pi, pi_old, pi_pef, "old", constant=10))


def normalised_return(P, r, gamma, rho0, pi):
    return (1 - gamma) * TabularMDP(P, r, gamma, rho0).return_(pi)


THEOREM = Theorem(
    name="C2.old",
    title="The stated improvement bound, with delta below E_pef A_old: refuted for all three divergences",
    source=Source("li2025choice", "Theorem 1; cf. kang2018pofd"),
    statement=r"J(\pi) \ge L_{old}(\pi) - \tfrac{2\gamma\alpha_1\epsilon_\pi}{(1-\gamma)^2}"
    r" + \tfrac{\delta}{1-\gamma} - \tfrac{C_f\gamma\alpha_2\epsilon_{pef}}{(1-\gamma)^2},"
    r"\quad \delta \le E_{\pi_{pef}} A_{old}(s,\cdot)",
    relation=Relation.AT_MOST,
    lhs=least_bound,
    rhs=normalised_return,
    instances=TRIPLES,
    expected=Verdict.REFUTED,
    examples=(COUNTEREXAMPLE,),
    floor=1.0,  # The scale of a normalised return, (1-gamma) J.
    false_neighbours=(neighbour("a constant C_f ten times larger", lhs=with_larger_constant),),
    note="The paper's exact assumption is not available to us; the bound fails under both readings of delta,"
    " this one and C2.new, whatever C_f (C2.generic). The bounds of C3 and C4 hold instead.",
)
