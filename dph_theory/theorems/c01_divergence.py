"""C1: TRPO's bound for the whole family, with C_f = 2/f''(1)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from ..divergences import COMPARED, each
from ..fdivergence import FDivergence
from ..improvement import trpo_penalty
from ..mdp import TabularMDP
from ..numeric.balls import Values, trailing
from ..numeric.boxes import Scalar, linear
from ..references import Source
from ..statement.reduction import Reduction
from ..statement.theorem import Relation, Theorem, Verdict, neighbour, scaled
from ._generators import Generator
from ._mdps import STEP, around, balanced, scaled_loss


def loss(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
    return trailing(scaled_loss(mdp, pi, pi_old), 1)


def penalties(mdp: TabularMDP, pi: Values, pi_old: Values) -> Values:
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


THEOREM = Theorem(
    name="C1.divergence",
    title="One formula for the family: penalty C_f gamma eps max_s D_f/(1-gamma)^2 with C_f = 2/f''(1)",
    source=Source("ours"),
    statement=r"L_{old}(\pi) - J(\pi) \le \frac{C_f\gamma\epsilon}{(1-\gamma)^2}\max_s D_f(\pi\|\pi_{old}),"
    r"\quad C_f = 2/f''(1)",
    relation=Relation.AT_MOST,
    lhs=loss,
    rhs=penalties,
    instances=around(balanced_step),
    expected=Verdict.ENCLOSED,
    examples=(STEP,),
    reductions=tuple(
        Reduction(
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
    false_neighbours=(
        neighbour("constants 2% smaller", rhs=scaled(penalties, 0.98)),
        neighbour(
            "C_f = 2 for Jensen-Shannon as well",
            rhs=lambda mdp, pi, pi_old: penalties(mdp, pi, pi_old)[..., 2:3] / 2,
        ),
    ),
    note="On the balanced step the ratio of the two sides tends to one as gamma and TV tend to 0: no C_f can"
    " be smaller.",
)
