"""The spread over seeds of any differentiable training, from one noiseless run: its adjoint.

With theta_{t+1} = theta_t + eta g_t, Var s(theta_T) = sum_t eta^2 lambda_t^T C_t lambda_t to first order in
the noise, C_t the covariance of one step's gradient, lambda_T = grad s and lambda_t = lambda_{t+1} + eta
(Hessian) lambda_{t+1}: one product with a Hessian a step. With Adam the state is (theta, m, v), and v is
driven by E g^2 = g^2 + diag C. No constant is free.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.func import functional_call, jacrev, vjp

from ..numeric.arrays import positive, whole
from ..support.errors import argument_error, choice
from ..support.record import readable

OPTIMISERS = ("sgd", "adam")
State: TypeAlias = tuple[Tensor, ...]
Answers: TypeAlias = Callable[[torch.nn.Module], Tensor]
"""The log-probabilities of all answers, (answers,), differentiable in the parameters."""
Coefficients: TypeAlias = Callable[[Tensor], Tensor]
"""What multiplies the gradient of each answer's log-probability in the expected update, from all p."""
Measure: TypeAlias = Callable[[Tensor], Tensor]
"""A scalar of the log-probabilities of all answers."""
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


class SeedSpread(NamedTuple):
    """The deviation of a measure over seeds, and where the noiseless run ends: measure, step, answers."""

    deviation: float
    measure: float
    steps: int
    log_probs: Tensor

    def __repr__(self) -> str:
        return readable(self)


def spread_over_seeds(
    model: torch.nn.Module,
    answers: Answers,
    coefficients: Coefficients,
    measure: Measure,
    *,
    learning_rate: float | Callable[[int], float],
    batch: int,
    steps: int,
    optimiser: str = "sgd",
    until: Measure | None = None,
    checkpoint: int = 32,
) -> SeedSpread:
    """How far a measure spreads over seeds that draw `batch` answers a step, to first order in the noise.

    Parameters: model, whose parameters are trained and left as they are; answers, the log-probabilities of
    all answers; coefficients c(p); measure, a scalar of the log-probabilities; learning_rate, a number or a
    function of the step; steps at most, or fewer where `until`, a scalar of the log-probabilities, passes 0:
    every seed stops there at a step of its own, and the measure is that at the passing. optimiser "sgd" or
    "adam" (as torch's, without weight decay). Every `checkpoint`-th state is kept, the others are computed
    again, which takes one more forward run. Returns the deviation, the measure, the steps and the
    log-probabilities at the end.
    Raises ValueError for arguments out of range. Source: ours, theory G5.
    """
    choice("optimiser", optimiser, OPTIMISERS)
    whole("batch", batch, at_least=1)
    whole("steps", steps, at_least=1)
    whole("checkpoint", checkpoint, at_least=1)
    if not callable(learning_rate):
        learning_rate = _constant(float(positive("learning_rate", learning_rate)))
    course = _Course(model, answers, coefficients, batch, optimiser, learning_rate)
    kept: dict[int, State] = {}
    last: list[State] = []
    state, taken = course.start(), 0
    while taken < steps and not (until is not None and float(until(course.log_probs(state[0]))) >= 0):
        if taken % checkpoint == 0:
            kept[taken] = state
        last = [*last[-3:], state]
        state = course.step(state, taken)
        taken += 1
    if not taken:
        raise argument_error("until", until, "below 0 at the start")
    at_passing = measure if until is None else _at_passing(measure, until, course, last[0], state)
    value, pull = vjp(lambda theta: at_passing(course.log_probs(theta)), state[0])[:2]
    adjoint = (pull(torch.ones_like(value))[0], *(torch.zeros_like(part) for part in state[1:]))
    variance = 0.0
    for begun in reversed(kept):
        states = [kept[begun]]
        for step in range(begun, min(begun + checkpoint, taken) - 1):
            states.append(course.step(states[-1], step))
        for step in reversed(range(begun, begun + len(states))):
            adjoint, added = course.back(states[step - begun], adjoint, step)
            variance += added
    end = course.log_probs(state[0]).detach()
    return SeedSpread(math.sqrt(max(variance, 0.0)), float(measure(end)), taken, end)


def _at_passing(measure: Measure, until: Measure, course: "_Course", before: State, after: State) -> Measure:
    """The measure less what it gains along the path: a seed that is ahead stops earlier."""
    begun, ended = course.log_probs(before[0]), course.log_probs(after[0])
    slope = float((measure(ended) - measure(begun)) / (until(ended) - until(begun)))
    return lambda log_p: measure(log_p) - slope * until(log_p)


def _constant(rate: float) -> Callable[[int], float]:
    return lambda step: rate


class _Course:
    """The noiseless training and its adjoint, on a flat vector of parameters."""

    def __init__(
        self,
        model: torch.nn.Module,
        answers: Answers,
        coefficients: Coefficients,
        batch: int,
        optimiser: str,
        rate: Callable[[int], float],
    ) -> None:
        self.model, self.answers, self.coefficients = model, answers, coefficients
        self.batch, self.adam, self.rate = batch, optimiser == "adam", rate
        self.named = {name: part.detach() for name, part in model.named_parameters() if part.requires_grad}
        self.sizes = [part.numel() for part in self.named.values()]

    def start(self) -> State:
        """The parameters, and Adam's moments."""
        theta = torch.cat([part.reshape(-1) for part in self.named.values()])
        return (theta, torch.zeros_like(theta), torch.zeros_like(theta)) if self.adam else (theta,)

    def log_probs(self, theta: Tensor) -> Tensor:
        """Of all answers under these parameters."""
        parts = zip(self.named.items(), torch.split(theta, self.sizes), strict=True)
        values = {name: part.view(like.shape) for (name, like), part in parts}
        return functional_call(
            _Called(self.model, self.answers), {f"model.{n}": v for n, v in values.items()}, ()
        )

    def _noise(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The expected gradient, its batch's variance by parameter, the slopes, each answer's p and c."""
        slopes = jacrev(self.log_probs)(theta)
        p = self.log_probs(theta).exp()
        c = self.coefficients(p)
        mean = (p * c) @ slopes
        return mean, ((p * c * c) @ (slopes * slopes) - mean * mean) / self.batch, slopes, torch.stack([p, c])

    def _moved(self, state: State, noise: Tensor, at: int) -> State:
        if not self.adam:
            log_p, pull = vjp(self.log_probs, state[0])[:2]
            p = log_p.exp()
            return (state[0] + self.rate(at) * (pull(p * self.coefficients(p))[0] + noise),)
        theta, m, v = state
        gradient, variance, _, _ = self._noise(theta)
        first, second = _BETAS
        m = first * m + (1 - first) * (gradient + noise)
        v = second * v + (1 - second) * (gradient * gradient + 2 * gradient * noise + variance)
        size = torch.sqrt(v / (1 - second ** (at + 1)) + 1e-16) + _EPSILON
        return theta + self.rate(at) * (m / (1 - first ** (at + 1))) / size, m, v

    def step(self, state: State, at: int) -> State:
        """One noiseless step."""
        with torch.no_grad():
            return tuple(part.detach() for part in self._moved(state, torch.zeros_like(state[0]), at))

    def back(self, state: State, adjoint: State, at: int) -> tuple[State, float]:
        """The adjoint one step earlier, and what this step's sampling adds to the variance."""
        still = torch.zeros_like(state[0])
        pull = vjp(lambda *parts: self._moved(parts[:-1], parts[-1], at), *state, still)[1]
        *earlier, noise = pull(adjoint)
        with torch.no_grad():
            _, _, slopes, (p, c) = self._noise(state[0])
            moved = c * (slopes @ noise)
            added = float((p * moved**2).sum() - (p * moved).sum() ** 2) / self.batch
        return tuple(part.detach() for part in earlier), added


class _Called(torch.nn.Module):
    """The model with the answers' log-probabilities as its output."""

    def __init__(self, model: torch.nn.Module, answers: Answers) -> None:
        super().__init__()
        self.model, self.answers = model, answers

    def forward(self) -> Tensor:
        """The log-probabilities of all answers."""
        return self.answers(self.model)
