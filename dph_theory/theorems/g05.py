"""G5. The adjoint of a training.

The variance of a measure over seeds, to first order in the noise, is a sum over steps: of each step's
covariance, seen through what the rest of the training makes of a small change.
"""

import numpy as np

from ..numeric.elementary import Values
from ..references import Source
from ..statement.charts import chart, example, log_uniform, uniform
from ..statement.theorem import neighbour, theorem


def _slopes(curvature: Values, step: Values) -> Values:
    """I + eta H of each step, H symmetric, (..., steps, 2, 2)."""
    a, b, c = (curvature[..., i] for i in range(3))
    hessian = np.stack([np.stack([a, b], axis=-1), np.stack([b, c], axis=-1)], axis=-2)
    return np.eye(2) + step[..., None, None, None] * hessian


def _covariances(noise: Values, step: Values) -> Values:
    """eta^2 C of each step, C of rank one, (..., steps, 2, 2)."""
    return step[..., None, None, None] ** 2 * noise[..., :, None] * noise[..., None, :]


def forwards(curvature: Values, noise: Values, step: Values) -> Values:
    """The covariance carried along, of the first coordinate at the end."""
    slopes, added = _slopes(curvature, step), _covariances(noise, step)
    covariance = 0 * added[..., 0, :, :]
    for t in range(added.shape[-3]):
        slope = slopes[..., t, :, :]
        covariance = slope @ covariance @ np.swapaxes(slope, -1, -2) + added[..., t, :, :]
    return covariance[..., 0, 0]


def backwards(curvature: Values, noise: Values, step: Values) -> Values:
    """The sum over steps of lambda^T C lambda, lambda carried back from the measure."""
    slopes, added = _slopes(curvature, step), _covariances(noise, step)
    adjoint = np.broadcast_to(np.array([1.0, 0.0]), slopes[..., 0, :, 0].shape)
    variance = 0 * step
    for t in reversed(range(added.shape[-3])):
        variance = variance + np.einsum("...i,...ij,...j->...", adjoint, added[..., t, :, :], adjoint)
        adjoint = np.einsum("...ji,...j->...i", slopes[..., t, :, :], adjoint)
    return variance


def without_the_path(curvature: Values, noise: Values, step: Values) -> Values:
    """As if no step changed what later ones do."""
    return _covariances(noise, step).sum(axis=-3)[..., 0, 0] + 0 * curvature[..., 0, 0]


ADJOINT = theorem(
    "G5.adjoint",
    "The spread of a measure over seeds is a sum over steps, by the adjoint of the expected-gradient run",
    statement=r"\mathrm{Var}\,s(\theta_T) = \sum_t \eta^2\lambda_t^\top C_t\lambda_t, \quad"
    r" \lambda_T = \nabla s,\ \lambda_t = (I + \eta H_t)^\top\lambda_{t+1}",
    source=Source("ours", "finite training"),
    on=chart(curvature=uniform(-1, 1, 4, 3), noise=uniform(-1, 1, 4, 2), step=log_uniform(0.01, 1)),
    equal=(forwards, backwards),
    examples=(
        example(
            curvature=["1 .5 -1", "-.5 .25 .5", ".5 -1 .25", "1 1 -.5"],
            noise=[".5 1", "-1 .25", ".5 -.5", "1 .5"],
            step=".2",
        ),
    ),
    floor=1e-9,
    note="`spread_over_seeds` computes it for any torch model, with Adam's moments as state.",
    false=(neighbour("the steps' own noise alone", rhs=without_the_path),),
)
