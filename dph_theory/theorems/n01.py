"""N1. What one prompt's training does to another.

z = logit V. A drive through rewards alone moves every prompt by dz/dt = K f, K the inner products of the
gradients of z: the neural tangent kernel (NTK) of the log odds of a correct answer. Several incorrect
answers, and several correct ones, move among themselves too, by their own kernel.
"""

from typing import Any

import numpy as np

from ..numeric.elementary import normalised
from ..references import Source
from ..statement.charts import example, uniform
from ..statement.theorem import neighbour, theorem
from ._transfer import Values, base, gradients, kernel, linear, log_odds, policy, pull, times

SOURCE = Source("ours", "transfer between prompts")
CORRECT = np.array([1.0, 0.0, 0.0])
KEPT = example(
    slopes=[[".5 -.2 .3 .1", "-.4 .6 0 .2", ".1 .1 -.7 .4"],
            [".3 .3 -.1 .5", ".2 -.5 .4 -.3", "-.6 .1 .2 .1"],
            ["-.1 .4 .6 -.2", ".7 -.3 .1 .1", "0 .2 -.4 .5"]],
    logits=[".5 0 -.3", "-1 .4 .2", "-.2 .1 1"], weight="1 .5 -.3",
)  # fmt: skip


def moved(slopes: Values, logits: Values, weight: Values, eps: float) -> Values:
    """The change of the log odds by a step eps along sum_i weight_i grad V_i, over eps."""
    p = base(slopes, logits)
    step = pull(slopes, p, weight[..., None] * CORRECT)
    return (log_odds(policy(slopes, logits, eps * step)) - log_odds(p)) / eps


def by_kernel(slopes: Values, logits: Values, weight: Values) -> Values:
    """K f with f = weight V (1 - V)."""
    p = base(slopes, logits)
    rate = p[..., 0]
    return times(kernel(slopes, p), weight * rate * (1 - rate))


def alone(slopes: Values, logits: Values, weight: Values) -> Values:
    p = base(slopes, logits)
    own = (gradients(slopes, p) ** 2).sum(axis=-1)
    return own * weight * p[..., 0] * (1 - p[..., 0])


STEPS: dict[str, Any] = {"tolerance": 1e-3, "floor": 0.1, "ladder": (1e-3, 1e-5)}

FLOW = theorem(
    "N1.flow",
    "A step that the rewards drive moves the log odds of every prompt by the kernel",
    statement=r"\Delta\theta = \eta \sum_i w_i \nabla V_i \;\Rightarrow\; \Delta z = \eta K f + O(\eta^2),"
    r"\quad f_i = w_i V_i (1 - V_i),\; K_{ij} = \langle \nabla z_i, \nabla z_j \rangle",
    source=SOURCE,
    on=linear(weight=uniform(-1, 1, 3)),
    tends=(moved, by_kernel),
    examples=(KEPT.giving(rhs=".274200534 -.0045316123 -.0387750916"),),
    false=(neighbour("each prompt by its own gradient alone", rhs=alone),),
    **STEPS,
)


def ratio(slopes: Values, logits: Values, weight: Values, eps: float) -> Values:
    """What the others move where the first prompt is trained alone, over what it moves itself."""
    only = weight * np.array([1.0, 0.0, 0.0]) + np.array([0.1, 0, 0])
    change = moved(slopes, logits, only, eps)
    return change[..., 1:] / change[..., :1]


def cosines(slopes: Values, logits: Values) -> Values:
    coupling = kernel(slopes, base(slopes, logits))
    return coupling[..., 0, 1:] / coupling[..., 0, :1]


RATIO = theorem(
    "N1.ratio",
    "One prompt trained: another moves by K_ij/K_ii of what it does, whatever its rewards are weighed by",
    statement=r"\frac{d\,\mathrm{logit} V_j}{d\,\mathrm{logit} V_i} = \frac{K_{ij}}{K_{ii}}",
    source=SOURCE,
    on=linear(weight=uniform(0.1, 1, 3)),
    tends=(ratio, cosines),
    examples=(KEPT.giving(rhs="-.2935272365 .1733657420"),),
    false=(
        neighbour(
            "by the cosine",
            rhs=lambda slopes, logits: (
                cosines(slopes, logits)
                * np.sqrt(
                    (c := kernel(slopes, base(slopes, logits)))[..., 0, :1]
                    / np.diagonal(c, 0, -2, -1)[..., 1:]
                )
            ),
        ),
    ),
    **STEPS,
)


def answers_after(slopes: Values, logits: Values, asked: Values) -> Values:
    """The answers' probabilities after a whole step that asks c of each answer's log-probability."""
    p = base(slopes, logits)
    return policy(slopes, logits, pull(slopes, p, asked / p))


def answers_by_kernel(slopes: Values, logits: Values, asked: Values) -> Values:
    """By the kernel of the gradients of their log-probabilities, then normalised."""
    p = base(slopes, logits)
    score = (slopes - (p[..., None] * slopes).sum(axis=-2, keepdims=True)).reshape(
        len(p), -1, slopes.shape[-1]
    )
    change = times(score @ np.swapaxes(score, -1, -2), asked.reshape(len(p), -1)).reshape(p.shape)
    return normalised(p * np.exp(change))


def by_log_odds(slopes: Values, logits: Values, asked: Values) -> Values:
    """As if nothing moved among the incorrect answers."""
    p = base(slopes, logits)
    whole = asked[..., 0] - p[..., 0] * asked.sum(axis=-1)
    z = log_odds(p) + times(kernel(slopes, p), whole)
    right = 1 / (1 + np.exp(-z))[..., None]
    return np.concatenate([right, (1 - right) * normalised(p[..., 1:])], axis=-1)


ANSWERS = theorem(
    "N1.answers",
    "Answers of linear logits move by their kernel exactly, at any step: the linearised model is the model",
    statement=r"\Delta\theta = \sum_y c_y \nabla \log\pi(y) \;\Rightarrow\; \pi' \propto \pi\, e^{\Theta c},"
    r"\quad \Theta_{yy'} = \langle \nabla\log\pi(y), \nabla\log\pi(y') \rangle",
    source=SOURCE,
    on=linear(asked=uniform(-2, 2, 3, 3)),
    equal=(answers_after, answers_by_kernel),
    examples=(KEPT.but(weight=None, asked=[".5 -.3 -.2", "1 0 -1", "0 0 0"]),),
    note="So a training by any method, and what it does to prompts that it does not touch, can be computed"
    " from the base's kernel of answers alone, as far as gradients stay as they are.",
    false=(neighbour("by the kernel of the log odds alone", rhs=by_log_odds),),
)
