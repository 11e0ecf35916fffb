"""Local optimisation: gradient descent, Newton's method, and continuation of a minimum in 1/beta."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.optimize import brentq
from torch import Tensor

from dph_theory.support.errors import argument_error

from .family import Bigrams
from .problem import CollapseProblem, Objective

Frame = Callable[[Tensor], Float[Tensor, "batch size free"]]
"""Tangent vectors at theta, orthonormal in the metric; directions outside their span are not searched."""

TOLERANCE = 1e-13  # Convergence: a predicted decrease of at most this times 1 + |value|.
ARMIJO = 1e-4  # Share of the predicted decrease that a step must deliver.
HALVINGS = 40
EIGENVALUE_FLOOR = 1e-3
"""Smallest curvature that a step divides by, in units of the metric; bounds steps in flat directions."""


class Minima(NamedTuple):
    """End points of a batch of minimisations.

    `decrement` is half of g^T |H|^-1 g, the decrease that a further step predicts; `curvature` is the
    smallest eigenvalue of the Hessian; both in the frame. `converged`: the decrement met TOLERANCE.
    """

    theta: Float[Tensor, "batch size"]
    value: Float[Tensor, " batch"]
    gradient_norm: Float[Tensor, " batch"]
    decrement: Float[Tensor, " batch"]
    curvature: Float[Tensor, " batch"]
    converged: Bool[Tensor, " batch"]


def minimise(
    objective: Objective,
    frame: Frame,
    start: Float[Tensor, "batch size"],
    *parameters: Tensor,
    radius: float = 2.0,
    steps: int = 200,
) -> Minima:
    """Minimise every row of a batch from its own start, until half the squared Newton decrement is rounding.

    A row stops if decrement <= TOLERANCE (1 + |value|), if no multiple of its step decreases the value, or
    after `steps`. No entry of theta moves by more than `radius` in a step. Raises ValueError if the objective
    is not finite at the start.
    """
    theta = start.detach().clone()
    value = objective(theta, *parameters)
    if not value.isfinite().all():
        raise argument_error("start", start[~value.isfinite()][0].tolist(), "a finite objective there")
    # Current state of each row: value, gradient norm, decrement, curvature.
    summaries = torch.full((4, len(theta)), torch.nan, dtype=theta.dtype)
    active = torch.arange(len(theta))
    for step in range(steps + 1):
        own = [p[active] for p in parameters]
        summaries[:, active], direction = _expand(objective, frame, theta[active], own)
        value, _, decrement, _ = summaries[:, active]
        open_ = decrement > TOLERANCE * (1 + value.abs())
        active, own = active[open_], [p[open_] for p in own]
        if step == steps or not len(active):
            break
        direction, slope = direction[open_], 2 * decrement[open_]
        direction = direction * (radius / direction.abs().amax(-1, keepdim=True)).clamp(max=1)
        moved, theta[active] = _backtrack(objective, theta[active], direction, value[open_], slope, own)
        active = active[moved]
    value, gradient_norm, decrement, curvature = summaries
    converged = decrement <= TOLERANCE * (1 + value.abs())
    return Minima(theta, value, gradient_norm, decrement, curvature, converged)


def _expand(
    objective: Objective, frame: Frame, theta: Tensor, parameters: list[Tensor]
) -> tuple[Float[Tensor, "4 batch"], Float[Tensor, "batch size"]]:
    """Value, gradient norm, Newton decrement and least curvature, (4, batch), and the Newton step."""
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
    decrement = (along * scaled).sum(-1) / 2
    return torch.stack([value.detach(), gradient.norm(dim=-1), decrement, eigenvalues[:, 0]]), step


def _backtrack(
    objective: Objective, theta: Tensor, step: Tensor, value: Tensor, slope: Tensor, parameters: list[Tensor]
) -> tuple[Bool[Tensor, " batch"], Float[Tensor, "batch size"]]:
    """Rows that moved, and points after the first of step, step/2, ... that decreases f enough."""
    theta = theta.clone()
    moved = torch.zeros(len(theta), dtype=torch.bool)
    left, scale = torch.arange(len(theta)), 1.0
    for _ in range(HALVINGS):
        trial = theta[left] + scale * step[left]
        bound = value[left] - ARMIJO * scale * slope[left]
        good = objective(trial, *(p[left] for p in parameters)) <= bound
        theta[left[good]] = trial[good]
        moved[left[good]] = True
        left, scale = left[~good], scale / 2
        if not len(left):
            break
    return moved, theta


FOLLOWS = 0.9
"""Share of the gradient flow's initial decrease that a step must deliver."""
GROWTH = 1.5


def descend(
    objective: Objective, start: Float[Tensor, "batch size"], *parameters: Tensor, steps: int
) -> Float[Tensor, "batch size"]:
    """Gradient descent theta <- theta - eta grad f(theta), with eta adapted row by row.

    A trial is accepted if f falls by at least nine tenths of eta |grad f|^2, the initial rate of the gradient
    flow: on a parabola of curvature L this means eta <= 0.2/L, too short to leap out of a basin. Then eta
    grows by half, else it is halved. The descent stops early once no row can gain more than rounding.
    """
    theta, eta = start.detach().clone(), torch.ones(len(start), dtype=start.dtype)
    value, slope = _value_and_slope(objective, theta, parameters)
    for _ in range(steps):
        gain = eta * slope.square().sum(-1)
        trial = theta - eta[:, None] * slope
        trial_value, trial_slope = _value_and_slope(objective, trial, parameters)
        good = trial_value <= value - FOLLOWS * gain
        theta = torch.where(good[:, None], trial, theta)
        hopeless = gain <= torch.finfo(theta.dtype).eps * (1 + value.abs())
        slope, value = torch.where(good[:, None], trial_slope, slope), torch.where(good, trial_value, value)
        eta = torch.where(good, GROWTH * eta, eta / 2)
        if hopeless.all():
            break
    return theta


def _value_and_slope(
    objective: Objective, theta: Tensor, parameters: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor]:
    theta = theta.detach().requires_grad_()
    value = objective(theta, *parameters)
    (slope,) = torch.autograd.grad(value.sum(), theta)
    return value.detach(), slope


RADIUS = 0.5  # Maximal move of a logit per step from a warm start, so that it stays in its basin.
RESOLUTION = 1e-3  # Resolution of the bisection of a branch's ends.
APART = 1e-2
"""Branches that overlap by less than this in lambda are one branch, met by bisection at two points."""


def follow(
    problem: CollapseProblem,
    family: Bigrams,
    start: Float[Tensor, "rows size"],
    strengths: Float[np.ndarray, "stages rows"],
) -> Float[Tensor, "stages rows size"]:
    """Annealing: minimise KL(pi||a) - lambda V(pi) at one lambda after another, from the previous minimum.

    Row i belongs to base i; ValueError unless there is a row for every base.
    """
    if not len(start) == problem.cases == strengths.shape[-1]:
        raise argument_error("start.shape", tuple(start.shape), f"{problem.cases} rows, one for each base")
    base = problem.rows(family)
    stages, theta = [], start
    for strength in torch.from_numpy(strengths):
        minima = minimise(problem.reverse_kl(family), family.frame, theta, base, strength, radius=RADIUS)
        theta = minima.theta
        stages.append(theta)
    return torch.stack(stages)


@dataclass(frozen=True)
class _Branch:
    """A minimum at one lambda of a problem with one base, and its continuation to other lambdas."""

    problem: CollapseProblem
    family: Bigrams
    theta: Float[Tensor, " size"]
    strength: float

    def at(self, strength: float) -> Minima:
        objective, base = self.problem.reverse_kl(self.family), self.problem.rows(self.family)
        goal = torch.tensor([strength], dtype=torch.float64)
        return minimise(objective, self.family.frame, self.theta[None], base, goal, radius=RADIUS)

    def moved(self, strength: float) -> "_Branch":
        return _Branch(self.problem, self.family, self.at(strength).theta[0], strength)

    def pass_rate(self) -> float:
        return float(self.problem.pass_rate(self.family, self.theta))

    def end(self, outside: float, middle: float) -> "_Branch":
        """Last minimum towards `outside` before its pass rate crosses `middle`, by bisection."""
        branch, low = self, self.pass_rate() < middle
        while abs(outside - branch.strength) > RESOLUTION:
            ahead = branch.moved((branch.strength + outside) / 2)
            if (ahead.pass_rate() < middle) == low:
                branch = ahead
            else:
                outside = ahead.strength
        return branch


def find_jump(
    problem: CollapseProblem,
    family: Bigrams,
    low: tuple[float, Float[Tensor, " size"]],
    high: tuple[float, Float[Tensor, " size"]],
    *,
    search: tuple[float, float],
) -> dict[str, float]:
    """Locate the lambda at which the global minimum of one base jumps from one minimum to another.

    Both minima are pairs (lambda, theta); `low` has the smaller lambda and pass rate. Each is followed past
    the other, within `search` = (least, greatest) lambda, until its pass rate crosses the mean of the two. If
    both cross at one lambda, a single branch moves steeply and nothing jumps. Otherwise Brent's method finds
    the root of the difference of their values.

    Returns:
        The lambda of the `jump`, where the high branch begins (`high_from`) and where the low branch ends
        (`low_until`), both to RESOLUTION; empty if nothing jumps.

    Raises:
        ValueError: If the problem has several bases, or the minima are not ordered in that way.
    """
    if problem.cases != 1:
        raise argument_error("problem.cases", problem.cases, "one base only")
    below, above = (_Branch(problem, family, theta, strength) for strength, theta in (low, high))
    if not (search[0] <= low[0] < high[0] <= search[1] and below.pass_rate() < above.pass_rate()):
        allowed = f"in {search}, and of smaller lambda and pass rate than high, {high[0]}"
        raise argument_error("low", low[0], allowed)
    middle = (below.pass_rate() + above.pass_rate()) / 2
    low_end, high_end = below.end(search[1], middle), above.end(search[0], middle)
    if low_end.strength - high_end.strength < APART:
        return {}

    def lead(strength: float) -> float:
        return float(below.at(strength).value - above.at(strength).value)

    # Within the range of both branches, and no further from known minima than necessary.
    root = brentq(lead, max(high_end.strength, low[0]), min(low_end.strength, high[0]), xtol=1e-12)
    return {"jump": root, "high_from": high_end.strength, "low_until": low_end.strength}
