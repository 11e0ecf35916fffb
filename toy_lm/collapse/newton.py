"""Many local minimisations at once: Newton steps with exact Hessians, measured in a metric of the problem.

Plain Newton is drawn to saddles; here the Hessian's eigenvalues enter by their absolute value, so that
every step descends, and near a minimum it is Newton's step (the saddle-free Newton method).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

Objective = Callable[..., Float[Tensor, " batch"]]
"""(theta (batch, size), *parameters (batch, ...)) -> values (batch,); row i depends on row i alone."""
Frame = Callable[[Tensor], Float[Tensor, "batch size free"]]
"""Tangent vectors at theta, orthonormal in the metric; directions outside their span are left alone."""

TOLERANCE = 1e-13
"""A minimum is reached where the predicted decrease is at most this times 1 + |value|."""
ARMIJO = 1e-4
"""The share of the predicted decrease that a step must deliver."""
HALVINGS = 40
EIGENVALUE_FLOOR = 1e-3
"""Smallest curvature a step divides by, in units of the metric: it bounds steps along flat directions."""


class Minima(NamedTuple):
    """Where a batch of minimisations ended.

    `decrement` is half of g^T |H|^-1 g, the decrease a further step predicts; `curvature` the smallest
    eigenvalue of the Hessian; both in the frame. `converged` says that the decrement met TOLERANCE.
    """

    theta: Float[Tensor, "batch size"]
    value: Float[Tensor, " batch"]
    gradient_norm: Float[Tensor, " batch"]
    decrement: Float[Tensor, " batch"]
    curvature: Float[Tensor, " batch"]
    converged: Bool[Tensor, " batch"]
    steps: Int[Tensor, " batch"]


class _Local(NamedTuple):
    """Value, gradient and Hessian's eigenvalues in the frame, and the Newton step."""

    value: Tensor
    gradient: Tensor
    eigenvalues: Tensor
    step: Tensor
    decrement: Tensor

    def summary(self) -> Float[Tensor, "4 batch"]:
        return torch.stack([self.value, self.gradient.norm(dim=-1), self.decrement, self.eigenvalues[:, 0]])


def minimise(
    objective: Objective,
    frame: Frame,
    start: Float[Tensor, "batch size"],
    *parameters: Tensor,
    radius: float = 2.0,
    steps: int = 200,
) -> Minima:
    """Minimise every row of a batch from its own start, until half the squared Newton decrement is rounding.

    A row stops when decrement <= TOLERANCE (1 + |value|), or when no multiple of its step decreases the
    value any more, or after `steps`. No entry of theta moves by more than `radius` in a step.
    Raises ValueError where the objective starts not finite.
    """
    theta = start.detach().clone()
    value = objective(theta, *parameters)
    if not value.isfinite().all():
        raise argument_error("start", start[~value.isfinite()][0].tolist(), "a finite objective there")
    # What is known of each row where it is: value, gradient norm, decrement, curvature.
    known = torch.full((4, len(theta)), torch.nan, dtype=theta.dtype)
    taken = torch.zeros(len(theta), dtype=torch.int64)
    active = torch.arange(len(theta))
    for step in range(steps + 1):
        here = [p[active] for p in parameters]
        local = _expand(objective, frame, theta[active], here)
        known[:, active] = local.summary()
        open_ = local.decrement > TOLERANCE * (1 + local.value.abs())
        active, here = active[open_], [p[open_] for p in here]
        if step == steps or not len(active):
            break
        direction, slope = local.step[open_], 2 * local.decrement[open_]
        direction = direction * (radius / direction.abs().amax(-1, keepdim=True)).clamp(max=1)
        moved, theta[active] = _backtrack(
            objective, theta[active], direction, local.value[open_], slope, here
        )
        active = active[moved]
        taken[active] += 1
    value, gradient_norm, decrement, curvature = known
    converged = decrement <= TOLERANCE * (1 + value.abs())
    return Minima(theta, value, gradient_norm, decrement, curvature, converged, taken)


def _expand(
    objective: Objective, frame: Frame, theta: Tensor, parameters: tuple[Tensor, ...] | list[Tensor]
) -> _Local:
    """The quadratic model at theta; second derivatives by a second backward pass along the frame."""
    basis = frame(theta)
    theta = theta.clone().requires_grad_()
    value = objective(theta, *parameters)
    (slope,) = torch.autograd.grad(value.sum(), theta, create_graph=True)
    (rows,) = torch.autograd.grad(slope, theta, grad_outputs=basis.movedim(-1, 0), is_grads_batched=True)
    gradient = torch.einsum("bpk,bp->bk", basis, slope.detach())
    hessian = torch.einsum("kbp,bpl->bkl", rows, basis)
    eigenvalues, vectors = torch.linalg.eigh((hessian + hessian.mT) / 2)
    along = torch.einsum("bkl,bk->bl", vectors, gradient)
    scaled = along / eigenvalues.abs().clamp(min=EIGENVALUE_FLOOR)
    step = -torch.einsum("bpk,bkl,bl->bp", basis, vectors, scaled)
    return _Local(value.detach(), gradient, eigenvalues, step, (along * scaled).sum(-1) / 2)


def _backtrack(
    objective: Objective,
    theta: Tensor,
    step: Tensor,
    value: Tensor,
    slope: Tensor,
    parameters: list[Tensor],
) -> tuple[Bool[Tensor, " batch"], Float[Tensor, "batch size"]]:
    """Of step, step/2, step/4, ... the first that decreases enough, by row: which rows moved and where to."""
    theta = theta.clone()
    moved = torch.zeros(len(theta), dtype=torch.bool)
    left, scale = torch.arange(len(theta)), 1.0
    for _ in range(HALVINGS):
        trial = theta[left] + scale * step[left]
        wanted = value[left] - ARMIJO * scale * slope[left]
        good = objective(trial, *(p[left] for p in parameters)) <= wanted
        theta[left[good]] = trial[good]
        moved[left[good]] = True
        left, scale = left[~good], scale / 2
        if not len(left):
            break
    return moved, theta
