"""Prompts that share weights, whose answers have linear logits.

Logits are l + s.w, s the answers' features (..., prompts, answers, features), w the weights, 0 at the base.
The first answer of a prompt is correct, the others are incorrect.
"""

import numpy as np

from ..numeric.elementary import normalised
from ..verification.charts import Chart, Part, chart, uniform

Values = np.ndarray
PROMPTS, ANSWERS, FEATURES = 3, 3, 4


def linear(**more: Part) -> Chart:
    """Three prompts of three answers in four features, and further parts."""
    return chart(
        slopes=uniform(-1, 1, PROMPTS, ANSWERS, FEATURES), logits=uniform(-2, 2, PROMPTS, ANSWERS), **more
    )


def policy(slopes: Values, logits: Values, weights: Values) -> Values:
    """The probabilities of the answers, (..., prompts, answers)."""
    moved = logits + (slopes * weights[..., None, None, :]).sum(axis=-1)
    return normalised(np.exp(moved - moved.max(axis=-1, keepdims=True)))


def log_odds(p: Values) -> Values:
    """The log odds of the correct answer, (..., prompts)."""
    return np.log(p[..., 0]) - np.log(p[..., 1:].sum(axis=-1))


def base(slopes: Values, logits: Values) -> Values:
    return policy(slopes, logits, 0 * slopes[..., 0, 0, :])


def scores(slopes: Values, p: Values) -> Values:
    """The gradients of the answers' log-probabilities in the weights, in the shape of `slopes`."""
    return slopes - (p[..., None] * slopes).sum(axis=-2, keepdims=True)


def gradients(slopes: Values, p: Values) -> Values:
    """The correct answer's features minus the mean of the incorrect ones: gradients of the log odds."""
    wrong = normalised(p[..., 1:])[..., None]
    return slopes[..., 0, :] - (wrong * slopes[..., 1:, :]).sum(axis=-2)


def gram(vectors: Values) -> Values:
    """The inner products of the vectors (..., number, features)."""
    return vectors @ np.swapaxes(vectors, -1, -2)


def kernel(slopes: Values, p: Values) -> Values:
    """The inner products of the prompts' gradients."""
    return gram(gradients(slopes, p))


def score_sum(slopes: Values, p: Values, coefficient: Values) -> Values:
    """The sum over prompts of E[coefficient grad log pi], (..., features)."""
    return ((p * coefficient)[..., None] * scores(slopes, p)).sum(axis=(-3, -2))


def times(matrix: Values, vector: Values) -> Values:
    return (matrix @ vector[..., None])[..., 0]
