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
    """Chart of random features (`slopes`) and base logits of 3 prompts x 3 answers; `more` adds parts."""
    return chart(
        slopes=uniform(-1, 1, PROMPTS, ANSWERS, FEATURES), logits=uniform(-2, 2, PROMPTS, ANSWERS), **more
    )


def policy(slopes: Values, logits: Values, weights: Values) -> Values:
    """Probabilities (..., prompts, answers) at logits + slopes . weights, with weights (..., features)."""
    moved = logits + (slopes * weights[..., None, None, :]).sum(axis=-1)
    return normalised(np.exp(moved - moved.max(axis=-1, keepdims=True)))


def log_odds(p: Values) -> Values:
    """Log odds (..., prompts) of the first answer, the correct one, from p (..., prompts, answers)."""
    return np.log(p[..., 0]) - np.log(p[..., 1:].sum(axis=-1))


def base(slopes: Values, logits: Values) -> Values:
    return policy(slopes, logits, 0 * slopes[..., 0, 0, :])


def scores(slopes: Values, p: Values) -> Values:
    """Gradients of the answers' log-probabilities in the weights, (..., prompts, answers, features)."""
    return slopes - (p[..., None] * slopes).sum(axis=-2, keepdims=True)


def gradients(slopes: Values, p: Values) -> Values:
    """Gradients of the prompts' log odds of success in the weights, shape (..., prompts, features)."""
    wrong = normalised(p[..., 1:])[..., None]
    return slopes[..., 0, :] - (wrong * slopes[..., 1:, :]).sum(axis=-2)


def gram(vectors: Values) -> Values:
    """Inner products (..., number, number) of vectors (..., number, features)."""
    return vectors @ np.swapaxes(vectors, -1, -2)


def kernel(slopes: Values, p: Values) -> Values:
    """Inner products (..., prompts, prompts) of the gradients of the prompts' log odds of success."""
    return gram(gradients(slopes, p))


def score_sum(slopes: Values, p: Values, coefficient: Values) -> Values:
    """Sum over prompts of E_p[coefficient grad log p], (..., features); `coefficient` in the shape of p."""
    return ((p * coefficient)[..., None] * scores(slopes, p)).sum(axis=(-3, -2))


def times(matrix: Values, vector: Values) -> Values:
    return (matrix @ vector[..., None])[..., 0]
