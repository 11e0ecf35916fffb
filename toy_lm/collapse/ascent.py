"""Plain gradient descent, many runs at once, with the longest steps that still follow the gradient flow."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .newton import Objective

FOLLOWS = 0.9
"""A step must deliver this share of the decrease that the flow would give over the same time."""
GROWTH = 1.5


class Path(NamedTuple):
    """Where a batch of runs was after 0, 1, 2, 3, 4, 6, 8, 12, ... steps, and after the last.

    `time` is the sum of the step sizes so far, hence the time of the gradient flow that is followed.
    """

    step: Int[Tensor, " records"]
    time: Float[Tensor, "records batch"]
    theta: Float[Tensor, "records batch size"]


def descend(
    objective: Objective, start: Float[Tensor, "batch size"], *parameters: Tensor, steps: int
) -> Path:
    """Gradient descent theta <- theta - eta grad f(theta), eta chosen row by row, recorded on the way.

    A trial is accepted where f falls by at least nine tenths of eta |grad f|^2, what the gradient flow would
    give at first: on a parabola of curvature L that is eta <= 0.2/L, too short to leap out of a basin. Then
    eta grows by half, else it is halved. The end comes early once no row can hope for more than rounding.
    """
    theta, eta = start.detach().clone(), torch.ones(len(start), dtype=start.dtype)
    time = torch.zeros_like(eta)
    value, slope = _value_and_slope(objective, theta, parameters)
    records = [(0, time, theta)]
    for step in range(1, steps + 1):
        gain = eta * slope.square().sum(-1)
        still = bool((gain > torch.finfo(theta.dtype).eps * (1 + value.abs())).any())
        trial = theta - eta[:, None] * slope
        there, slope_there = _value_and_slope(objective, trial, parameters)
        good = there <= value - FOLLOWS * gain
        theta = torch.where(good[:, None], trial, theta)
        slope = torch.where(good[:, None], slope_there, slope)
        value, time = torch.where(good, there, value), torch.where(good, time + eta, time)
        eta = torch.where(good, GROWTH * eta, eta / 2)
        if _recorded(step) or step == steps or not still:
            records.append((step, time, theta))
        if not still:
            break
    at, times, thetas = zip(*records, strict=True)
    return Path(torch.tensor(at), torch.stack(times), torch.stack(thetas))


def _recorded(step: int) -> bool:
    """Whether it is a power of two, or three times one."""
    return step // (step & -step) in (1, 3)


def _value_and_slope(
    objective: Objective, theta: Tensor, parameters: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    theta = theta.detach().requires_grad_()
    value = objective(theta, *parameters)
    (slope,) = torch.autograd.grad(value.sum(), theta)
    return value.detach(), slope
