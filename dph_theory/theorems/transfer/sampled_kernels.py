"""Kernels of transfer from sampled answers, and from Adam's batches.

Transfer from samples.

Long answers are sampled: n to a prompt, c of them correct. The mean score of the correct less that of the
others is the gradient of the log odds, and products of what two prompts give need no correction; their own
squares do, and so do the weights of Pass@k.

Adam sees what its batches visited.

Adam divides by the root of a mean square that a few batches give. Rows of answers that stood in no mixed
group have none in them, since a group's advantages sum to zero, while the expected gradient has: a kernel in
the metric of such batches is far too large there. The squared mean gradient bounds the mean square below.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from ...numeric.elementary import normalised, trailing
from ...references import Source
from ...stationary.groups import success_weights
from ...verification.charts import chart, example, integers, rates, simplex, uniform
from ...verification.statement import neighbour, scaled, theorem
from .._linear_logits import Values

SOURCE = Source("ours", "transfer between prompts")
GROUP = 3
CORRECT = np.array([1.0, 0.0, 0.0])
DRAWS = np.array([*product(range(3), repeat=GROUP)])
"""Every group of three answers among three, of which the first is correct."""
RIGHT = CORRECT[DRAWS].sum(axis=1)
MIXED = (RIGHT > 0) & (RIGHT < GROUP)


def _directions(policy: Values, scores: Values) -> tuple[Values, Values]:
    """What each mixed group gives, (..., groups, features), and its chance among mixed groups."""
    correct = CORRECT[DRAWS[MIXED]]
    weights = correct / RIGHT[MIXED, None] - (1 - correct) / (GROUP - RIGHT[MIXED, None])
    centred = scores - (policy[..., None] * scores).sum(axis=-2, keepdims=True)
    directions = (weights[..., None] * centred[..., DRAWS[MIXED], :]).sum(axis=-2)
    return directions, normalised(policy[..., DRAWS[MIXED]].prod(axis=-1))


def mean_direction(policy: Values, scores: Values) -> Values:
    directions, chance = _directions(policy, scores)
    return (chance[..., None] * directions).sum(axis=-2)


def mean_squared_length(policy: Values, scores: Values) -> Values:
    directions, chance = _directions(policy, scores)
    return (chance * (directions**2).sum(axis=-1)).sum(axis=-1)


def direction(policy: Values, scores: Values) -> Values:
    """grad logit V = E[score | correct] - E[score | incorrect]."""
    wrong = trailing(normalised(policy[..., 1:]), 1)
    return scores[..., 0, :] - (wrong * scores[..., 1:, :]).sum(axis=-2)


DIRECTION = theorem(
    "N7.direction",
    "Correct less wrong mean score of a mixed group is the gradient of the log odds, without bias",
    statement=r"\hat g = \frac{\sum_i (v_i - \bar v)\, s_i}{n \bar v (1-\bar v)}:\quad"
    r" E[\hat g \mid 0 < c < n] = \nabla\, \mathrm{logit}\, V",
    source=SOURCE,
    on=chart(policy=simplex(3, spread=2), scores=uniform(-1, 1, 3, 2)),
    equal=(mean_direction, direction),
    examples=(example(policy=".2 .5 .3", scores=["1 0", "0 1", "-1 .5"], value="1.375 -.8125"),),
    note="So products of two prompts' directions are unbiased, and a prompt's own square is not: what the"
    " draws scatter is in it, and halves of the answers keep it out.",
    false=(
        neighbour(
            "its square that of the gradient",
            lhs=mean_squared_length,
            rhs=lambda policy, scores: (direction(policy, scores) ** 2).sum(axis=-1),
        ),
    ),
)


def falling(base: Values, count: int) -> Values:
    """base (base - 1) ... of so many factors."""
    return np.asarray(np.prod([base - i for i in range(count)], axis=0))


def mean_weights(rate: Values, n: int, k: int) -> Values:
    """The mean of k c (n-c)_k/(n)_{k+1} over the counts, and of c (n-c)/(n (n-1))."""
    c = np.arange(n + 1)
    estimates = k * c * falling(n - c, k) / falling(np.array(float(n)), k + 1), c * (n - c) / (n * (n - 1))
    return success_weights(n, rate) @ np.stack(estimates, axis=-1)


def case_by_case(function: Callable[..., Values]) -> Callable[..., Values]:
    """A side of whole numbers n > k, one instance at a time."""

    def side(rate: Values, answers: Values, k: Values) -> Values:
        cases = zip(np.asarray(rate, float), np.asarray(answers), np.asarray(k), strict=True)
        return np.stack([function(np.asarray(rate), int(k) + int(more), int(k)) for rate, more, k in cases])

    return side


def true_weights(rate: Values, n: int, k: int) -> Values:
    return np.stack([k * rate * (1 - rate) ** k, rate * (1 - rate)], axis=-1)


def plugged_in(rate: Values, n: int, k: int) -> Values:
    return success_weights(n, rate) @ true_weights(np.arange(n + 1) / n, n, k)


WEIGHTS = theorem(
    "N7.weights",
    "The weight of Pass@k and the drive, from counts without bias",
    statement=r"E\,\frac{k\, c\, (n-c)_k}{(n)_{k+1}} = k V (1-V)^k,\quad E\,\frac{c(n-c)}{n(n-1)} = V(1-V),"
    r" \quad n > k",
    source=SOURCE,
    on=chart(rate=rates(low=1e-3, high=1e-3), answers=integers(1, 8), k=integers(1, 8)),
    equal=(case_by_case(mean_weights), case_by_case(true_weights)),
    examples=(example(rate=".2", answers="4", k="4", value=".32768 .16"),),
    note="With c/n in the place of V the drive is (n-1)/n of itself.",
    share=0.2,
    false=(neighbour("c/n in the place of V", lhs=case_by_case(plugged_in)),),
)


def squared_mean(policy: Values, gradients: Values) -> Values:
    return (policy * gradients).sum(axis=-1) ** 2


def mean_square(policy: Values, gradients: Values) -> Values:
    return (policy * gradients**2).sum(axis=-1)


FLOOR = theorem(
    "N8.floor",
    "The mean square of a weight's gradient is at least the square of its mean",
    statement=r"E[g^2] \ge (E g)^2",
    source=Source("ours", "Cauchy and Schwarz, for Adam's second moment"),
    on=chart(policy=simplex(4), gradients=uniform(-2, 2, 4)),
    at_most=(squared_mean, mean_square),
    examples=(example(policy=".1 .2 .3 .4", gradients="1 -1 .5 0", lhs=".0025", rhs=".375"),),
    floor=1e-6,
    false=(
        neighbour(
            "half of it at most",
            at=example(policy=".25 .25 .25 .25", gradients="1 1 1 1"),
            rhs=scaled(mean_square, 0.5),
        ),
    ),
)
