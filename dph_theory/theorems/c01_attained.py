"""C1: the sharp improvement bound is attained: a two-state chain for every discount, distance and eps."""

import numpy as np
import sympy

from ..improvement import surrogate
from ..mdp import TabularMDP
from ..numeric.balls import trailing
from ..references import Source
from ..statement.charts import chart, discounts, example, log_uniform, uniform
from ..statement.theorem import Claim, Relation, Theorem, Verdict, neighbour

FAMILY = chart(gamma=discounts(nearest=1e-3), tv=uniform(0.001, 0.5), eps=log_uniform(0.01, 1))


def worst_case(gamma, tv, eps):
    """The parts (P, r, gamma, rho0, pi, pi_old) of the MDP in which the sharp bound is attained.

    In state 0 the new policy gains 2 TV eps over the old one, but its third action, which the old policy
    never takes, leads to state 1, from which there is no return and in which it loses 2 TV eps. The
    rewards are the advantages of the old policy, whose value is zero.
    """
    zero, one = 0 * tv, 1 + 0 * tv
    # The second action balances the first: no larger an advantage than eps while TV <= 1/2.
    gains = np.stack([-one, tv / (1 - tv), one], axis=-1)
    r = trailing(eps, 2) * np.stack([gains, -gains], axis=-2)
    stay, leave = np.stack([one, zero], axis=-1), np.stack([zero, one], axis=-1)
    P = np.stack([np.stack([stay, stay, leave], axis=-2), np.stack([leave] * 3, axis=-2)], axis=-3)
    old, new = np.stack([tv, 1 - tv, zero], axis=-1), np.stack([zero, 1 - tv, tv], axis=-1)
    return {
        "P": P,
        "r": r,
        "gamma": gamma,
        "rho0": stay,
        "pi": np.stack([new, new], axis=-2),
        "pi_old": np.stack([old, old], axis=-2),
    }


def scaled_loss(P, r, gamma, rho0, pi, pi_old):
    """(1-gamma)^2 (L_old(pi) - J(pi)): scaled so that discounts near one do not amplify rounding."""
    mdp = TabularMDP(P, r, gamma, rho0)
    return (1 - gamma) ** 2 * (surrogate(mdp, pi, pi_old) - mdp.return_(pi))


def loss_of_worst_case(gamma, tv, eps):
    return scaled_loss(**worst_case(gamma, tv, eps))


def sharp_penalty(gamma, tv, eps):
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


def derivation():
    # h = 2 TV eps in state 0 and its negative in state 1. The old policy stays in state 0, the new one leaves
    # it with probability TV a step: V0 = h + g ((1-TV) V0 + TV V1) and V1 = -h + g V1.
    g, tv, eps = sympy.symbols("gamma TV eps", positive=True)
    h = 2 * tv * eps
    v1 = -h / (1 - g)
    v0 = (h + g * tv * v1) / (1 - g * (1 - tv))
    yield Claim("the new policy's values", h + g * ((1 - tv) * v0 + tv * v1) - v0)
    surrogate_gain = h / (1 - g)
    yield Claim("the loss", surrogate_gain - v0 - 4 * eps * g * tv**2 / ((1 - g) * (1 - g + g * tv)))


THEOREM = Theorem(
    name="C1.attained",
    title="The sharp improvement bound is attained, for every discount, TV up to 1/2 and eps",
    source=Source("ours"),
    statement=r"\exists\,\mathrm{MDP}:\; L_{old}(\pi) - J(\pi) ="
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2}{(1-\gamma)(1-\gamma+\gamma\mathrm{TV})}",
    relation=Relation.EQUAL,
    lhs=loss_of_worst_case,
    rhs=sharp_penalty,
    instances=FAMILY,
    expected=Verdict.PROVED,
    examples=(example(gamma=".9", tv=".5", eps="1"),),
    symbolic=derivation,
    false_neighbours=(
        neighbour("TRPO's penalty is attained", rhs=lambda gamma, tv, eps: 4 * eps * gamma * tv**2),
        neighbour("2% less is lost", rhs=lambda gamma, tv, eps: 0.98 * sharp_penalty(gamma, tv, eps)),
    ),
)
