"""C1. TRPO's bound for the whole family, and its sharp form.

How far the return can fall short of its first-order forecast L_old: by TRPO's penalty, for every divergence
with C_f = 2/f''(1), by a sharp form that a chain of two states attains, and by one with means for maxima.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from flint import arb

from ..divergences import COMPARED, TOTAL_VARIATION, each
from ..fdivergence import FDivergence
from ..improvement import trpo_penalty, worst_advantage
from ..mdp import TabularMDP
from ..numeric.balls import Values, highest, lowest, trailing
from ..numeric.enclosures import Scalar, linear
from ..references import Source
from ..statement.charts import example
from ..statement.theorem import (
    Claim,
    FalseStep,
    ScalarForm,
    Steps,
    certified,
    derived,
    enclosed,
    neighbour,
    scaled,
)
from ._boxes import GAMMA
from ._generators import Generator
from ._mdps import STEP, STEPS, WORST_CHAINS, around, balanced, chain, scaled_loss, scaled_trpo_penalty

CHAIN = STEP.but(gamma=".02", tv=".4", away="0")
"""The chain of C1.attained itself, at a small discount."""
BALANCED = STEP.but(gamma=".001", tv=".01", away="0")
"""The balanced step below itself, at a small discount and a small step."""

TRPO = enclosed(
    "C1.trpo",
    "TRPO: J(pi) >= L_old(pi) - 4 eps gamma TVmax^2/(1-gamma)^2",
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{4\epsilon\gamma\max_s \mathrm{TV}_s^2}{(1-\gamma)^2},"
    r"\quad \epsilon = \max|A_{old}|",
    source=Source("schulman2015trpo"),
    on=STEPS,
    at_most=(scaled_loss, scaled_trpo_penalty),
    # TV = .1 in both states, eps = 1, 1/4 = (1-gamma)^2. The new visitation is (.45, .55), gains (.2, -.2):
    # L - J = 2 * .05 * .4 = .04.
    examples=(STEP.giving(lhs=".01", rhs=".02"),),
    reductions=(
        ScalarForm(
            "the chain of C1.attained, two states and three actions",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5")},
            chain,
            gap=lambda gamma, tv: [1 / (1 - gamma + gamma * tv)],
            factor=lambda gamma, tv, eps: [4 * eps * gamma * gamma * tv * tv * tv],
            free={"eps": linear("0.01", "1")},
        ),
    ),
    note="On the chain of C1.attained the ratio of the two sides is 1 - gamma over 1 - gamma + gamma TV, so"
    " the constant 4 is the best possible as TV -> 0.",
    false=(
        neighbour("a constant 2% smaller", at=CHAIN, rhs=scaled(scaled_trpo_penalty, 0.98)),
        neighbour(
            "one factor of 1/(1-gamma)",
            at=CHAIN,
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * scaled_trpo_penalty(mdp, pi, pi_old),
        ),
    ),
)


def loss(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return trailing(scaled_loss(mdp, pi, pi_old), 1)


def divergence_penalties(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return each(lambda d: (1 - mdp.gamma) ** 2 * trpo_penalty(mdp, pi, pi_old, d), COMPARED)


def balanced_step(gamma: Values, tv: Values, eps: Values) -> dict[str, Any]:
    """A step from the even policy by TV towards the second action, which leads to state 1, the first to 0.

    The action pays in state 0 and costs in state 1. As gamma and TV tend to 0 the penalties are attained.
    """
    zero, half = 0 * tv, 0.5 + 0 * tv
    to_zero, to_one = np.stack([1 + zero, zero], axis=-1), np.stack([zero, 1 + zero], axis=-1)
    old, new = np.stack([half, half], axis=-1), np.stack([half - tv, half + tv], axis=-1)
    pay = trailing(eps, 1) * np.stack([-1 + zero, 1 + zero], axis=-1)
    P = np.stack([np.stack([to_zero, to_one], axis=-2)] * 2, axis=-3)
    return {
        "mdp": TabularMDP(P, np.stack([pay, -pay], axis=-2), gamma, old),
        "pi": np.stack([new, new], axis=-2),
        "pi_old": np.stack([old, old], axis=-2),
    }


def penalty_less_loss(divergence: FDivergence) -> Callable[[Scalar, Scalar], list[Scalar]]:
    constant, f = 2 / arb(divergence.curvature), Generator(divergence)

    def gap(gamma: Scalar, tv: Scalar) -> list[Scalar]:
        return [constant * (f(1 - 2 * tv) + f(1 + 2 * tv)) / 2 - 4 * (1 - gamma) * tv * tv]

    return gap


DIVERGENCE = enclosed(
    "C1.divergence",
    "One formula for the family: penalty C_f gamma eps max_s D_f/(1-gamma)^2 with C_f = 2/f''(1)",
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{C_f\gamma\epsilon}{(1-\gamma)^2}\max_s D_f(\pi\|\pi_{old}),"
    r"\quad C_f = 2/f''(1)",
    source=Source("ours"),
    on=around(balanced_step),
    at_most=(loss, divergence_penalties),
    examples=(STEP,),
    reductions=tuple(
        ScalarForm(
            f"the balanced step, two states and two actions; {divergence.name}",
            {"gamma": linear("0.01", "1 - 1e-3"), "tv": linear("0", "0.45")},
            balanced,
            gap=penalty_less_loss(divergence),
            factor=lambda gamma, eps: [gamma * eps],
            components=(index,),
            zero=("tv", 2),
            free={"eps": linear("0.01", "1")},
        )
        for index, divergence in enumerate(COMPARED)
    ),
    note="On the balanced step the ratio of the two sides tends to one as gamma and TV tend to 0: no C_f can"
    " be smaller.",
    false=(
        neighbour("constants 2% smaller", at=BALANCED, rhs=scaled(divergence_penalties, 0.98)),
        neighbour(
            "C_f = 2 for Jensen-Shannon as well",
            at=BALANCED,
            rhs=lambda mdp, pi, pi_old: divergence_penalties(mdp, pi, pi_old)[..., 2:3] / 2,
        ),
    ),
)


def sharp_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # The two policies part at a step with probability at most TV, so that the visitations differ by at most
    # g TV/(1-g+g TV) in total variation; E_pi A_old has a span of at most 4 TV eps over the states.
    tv = highest(TOTAL_VARIATION(pi, pi_old))
    eps, gamma = worst_advantage(mdp, pi_old), mdp.gamma
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


SHARP = enclosed(
    "C1.sharp",
    "The sharp form: L - J <= 4 eps gamma TV^2/((1-gamma)(1-gamma+gamma TV))",
    statement=r"L_{old}(\pi) - J(\pi) \le"
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2}{(1-\gamma)(1-\gamma+\gamma\mathrm{TV})},"
    r"\quad \mathrm{TV} = \max_s \mathrm{TV}_s",
    source=Source("ours"),
    on=STEPS,
    at_most=(scaled_loss, sharp_penalty),
    examples=(STEP.giving(lhs=".01", rhs=".0181818"),),
    reductions=(
        ScalarForm(
            "the balanced step, two states and two actions",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5 - 1e-3")},
            balanced,
            gap=lambda gamma, tv: [(1 - tv) / (1 - gamma + gamma * tv)],
            factor=lambda gamma, tv, eps: [4 * eps * gamma * gamma * (1 - gamma) * tv * tv],
            free={"eps": linear("0.01", "1")},
        ),
    ),
    note="Attained by the three-action chain of C1.attained; two actions do not reach it in these searches.",
    false=(
        neighbour("a constant 2% smaller", at=CHAIN, rhs=scaled(sharp_penalty, 0.98)),
        neighbour(
            "no factor of 1/(1-gamma)",
            at=CHAIN,
            rhs=lambda mdp, pi, pi_old: (1 - mdp.gamma) * sharp_penalty(mdp, pi, pi_old),
        ),
    ),
)


def chain_penalty(gamma: Values, tv: Values, eps: Values) -> Values:
    return 4 * eps * gamma * tv**2 * (1 - gamma) / (1 - gamma + gamma * tv)


def attained_steps() -> Steps:
    yield (
        "In the chain the old policy (TV, 1 - TV, 0) earns nothing: its values are 0, and rewards are "
        "advantages."
    )
    g, tv, eps = sympy.symbols("gamma TV eps", positive=True)
    h = 2 * tv * eps
    domain = (g < 1, tv <= sympy.Rational(1, 2))
    middle = eps * tv / (1 - tv)
    yield Claim("no advantage exceeds eps", eps - middle, ">=0", where=domain)
    yield (
        "The new one gains h = 2 TV eps in state 0, which it leaves with probability TV a step, and loses as "
        "much in state 1: V1 = -h + g V1 and V0 = h + g ((1-TV) V0 + TV V1)."
    )
    v1 = -h / (1 - g)
    v0 = (h + g * tv * v1) / (1 - g * (1 - tv))
    yield Claim("the new policy's values", h + g * ((1 - tv) * v0 + tv * v1), equals=v0, where=domain)
    surrogate_gain = h / (1 - g)
    lost = 4 * eps * g * tv**2 / ((1 - g) * (1 - g + g * tv))
    yield Claim("the loss", surrogate_gain - v0, equals=lost, where=domain)
    yield FalseStep(
        "TRPO's penalty", surrogate_gain - v0, equals=lost * (1 - g + g * tv) / (1 - g), where=domain
    )


def loss_by_values(gamma: Scalar, tv: Scalar, eps: Scalar) -> list[tuple[Scalar, Scalar]]:
    h, rest = 2 * tv * eps, 1 - gamma
    ruined = -h / rest
    value = (h + gamma * tv * ruined) / (1 - gamma * (1 - tv))
    loss = rest * h - rest * rest * value
    return [(loss, 4 * eps * gamma * tv * tv * rest / (rest + gamma * tv))]


ATTAINED = derived(
    "C1.attained",
    "The sharp improvement bound is attained, for every discount, TV up to 1/2 and eps",
    statement=r"\exists\,\mathrm{MDP}:\; L_{old}(\pi) - J(\pi) ="
    r" \frac{4\epsilon\gamma\,\mathrm{TV}^2}{(1-\gamma)(1-\gamma+\gamma\mathrm{TV})}",
    source=Source("ours"),
    on=WORST_CHAINS,
    equal=(scaled_loss, chain_penalty),
    examples=(example(gamma=".9", tv=".5", eps="1"),),
    derivation=attained_steps,
    reductions=(
        ScalarForm(
            "all of the chart's scalars",
            {"gamma": GAMMA, "tv": linear("0.001", "0.5"), "eps": linear("0.01", "1")},
            lambda gamma, tv, eps: {"gamma": gamma, "tv": tv, "eps": eps},
            sides=loss_by_values,
        ),
    ),
    false=(
        neighbour("TRPO's penalty is attained", rhs=lambda gamma, tv, eps: 4 * eps * gamma * tv**2),
        neighbour("2% less is lost", rhs=scaled(chain_penalty, 0.98)),
    ),
)


# The same new policy in both states would make the two penalties equal, which balls cannot decide.
UNEVEN_STEP = STEP.but(pi=[".4 .6 0", ".45 .55 0", ".45 .55 0"])


def span_penalty(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    # L - J = sum_s (d_old - d_pi)(s) h(s)/(1-g), h(s) = E_pi A_old(s, .), and d_old, d_pi differ by at most
    # g E_{d_old}[TV_s]/(1-g) in total variation.
    gain = (pi * mdp.advantage(pi_old)).sum(axis=-1)
    mean_distance = (mdp.visitation(pi_old) * TOTAL_VARIATION(pi, pi_old)).sum(axis=-1)
    return mdp.gamma * (highest(gain) - lowest(gain)) * mean_distance


def loss_and_span(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    parts = mdp, pi, pi_old
    return np.stack([scaled_loss(*parts), span_penalty(*parts)], axis=-1)


def span_and_trpo(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    parts = mdp, pi, pi_old
    return np.stack([span_penalty(*parts), scaled_trpo_penalty(*parts)], axis=-1)


def without_discount(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return (1 - mdp.gamma) * span_penalty(mdp, pi, pi_old)


SPAN = certified(
    "C1.span",
    "Sharper: L - J <= gamma span_s(E_pi A_old)/(1-gamma)^2 E_{d_old}[TV_s], at most TRPO's penalty",
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{\gamma\,\mathrm{span}_s(E_\pi A_{old})}{(1-\gamma)^2}"
    r"\, E_{d_{old}}[\mathrm{TV}_s] \le \frac{4\epsilon\gamma\max_s \mathrm{TV}_s^2}{(1-\gamma)^2}",
    source=Source("ours", "cf. achiam2017cpo"),
    on=STEPS,
    at_most=(loss_and_span, span_and_trpo),
    examples=(UNEVEN_STEP,),
    tight=CHAIN,
    false=(
        neighbour("a constant 2% smaller", at=CHAIN, lhs=scaled_loss, rhs=scaled(span_penalty, 0.98)),
        neighbour("one factor of 1/(1-gamma)", at=CHAIN, lhs=scaled_loss, rhs=without_discount),
        neighbour("TRPO's penalty is the smaller one", lhs=scaled_trpo_penalty, rhs=span_penalty),
    ),
)
