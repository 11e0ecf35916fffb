"""What the families of transfer between prompts share: prompts whose answers have linear logits.

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
    """Of the correct answer, (..., prompts)."""
    return np.log(p[..., 0]) - np.log(p[..., 1:].sum(axis=-1))


def base(slopes: Values, logits: Values) -> Values:
    return policy(slopes, logits, 0 * slopes[..., 0, 0, :])


def gradients(slopes: Values, p: Values) -> Values:
    """Of the log odds in the weights: the correct answer's features less the mean of the incorrect ones'."""
    wrong = normalised(p[..., 1:])[..., None]
    return slopes[..., 0, :] - (wrong * slopes[..., 1:, :]).sum(axis=-2)


def kernel(slopes: Values, p: Values) -> Values:
    g = gradients(slopes, p)
    return g @ np.swapaxes(g, -1, -2)


def pull(slopes: Values, p: Values, coefficient: Values) -> Values:
    """The sum over prompts of E[coefficient grad log pi], (..., features)."""
    score = slopes - (p[..., None] * slopes).sum(axis=-2, keepdims=True)
    return ((p * coefficient)[..., None] * score).sum(axis=(-3, -2))


def times(matrix: Values, vector: Values) -> Values:
    return (matrix @ vector[..., None])[..., 0]
