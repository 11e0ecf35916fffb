"""Spread over seeds of any differentiable training, from one expected-gradient run by its adjoint.

With theta_{t+1} = theta_t + eta g_t, Var s(theta_T) = sum_t eta^2 lambda_t^T C_t lambda_t to first order in
the noise, where C_t is the covariance of one step's gradient, lambda_T = grad s, and lambda_t = lambda_{t+1}
+ eta (Hessian) lambda_{t+1}: one product with a Hessian per step. With Adam the state is (theta, m, v), and v
is driven by E g^2 = g^2 + diag C. No constant is fitted.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.func import functional_call, jacrev, vjp

from ..numeric.arrays import integers, positive
from ..support.errors import argument_error, choice
from ..support.record import readable

OPTIMISERS = ("sgd", "adam")
State: TypeAlias = tuple[Tensor, ...]
LogProbs: TypeAlias = Callable[[torch.nn.Module], Tensor]
"""Log-probabilities of all answers, or of all entries of next-token tables, (entries,)."""
Measure: TypeAlias = Callable[[Tensor], Tensor]  # A scalar function of the log-probabilities.
_BETAS, _EPSILON = (0.9, 0.999), 1e-8


class Draws(NamedTuple):
    """Contribution of one answer to the expected update, as tensors differentiable in the log-probabilities.

    A step draws independently from each row. p: (rows, answers), each row sums to 1; entries: (rows, answers,
    tokens), indices of an answer's tokens; c: (rows, answers, tokens), factors of their gradients, 0 for
    padding. For an advantage that depends on more than the answer: weight, shaped like c, multiplies the
    advantage's part of c; variance, (rows, answers), of the advantage given its answer (errors of a verifier,
    rewards of the others of a group); shared, (rows, answers), whose mean squared is added, because each of
    two answers of a group is in the other's baseline (`group_baseline`).
    """

    p: Tensor
    entries: Tensor
    c: Tensor
    weight: Tensor | None = None
    variance: Tensor | None = None
    shared: Tensor | None = None


def group_baseline(p: Tensor, rewards: Tensor, other_answers: float) -> tuple[Tensor, Tensor]:
    """Noise that a baseline from the answers' own group adds: `Draws.variance` and `.shared`.

    p, rewards: (rows, answers). A group of G, each reward minus the mean of the others', has the gradient
    sum_i a_i s_i - sum_{i != j} a_i s_j / (G-1), a the rewards minus their expectation, s the scores. The
    second sum is uncorrelated with the first, and its variance is G (E a^2 E s^2 + (E a s)^2) / (G-1), with
    `other_answers` = G-1. Returns E a^2 / (G-1), (rows, 1), and a / sqrt(G-1).
    """
    centred = rewards - (p * rewards).sum(-1, keepdim=True)
    return (p * centred.square()).sum(-1, keepdim=True) / other_answers, centred / math.sqrt(other_answers)


Update: TypeAlias = Callable[[Tensor, int], Draws]  # Maps the log-probabilities and the step to draws.


def decision_update(coefficients: Callable[[Tensor], Tensor]) -> Update:
    """Update of single decisions whose answers' scores have factors c(p), from p (answers,) to (answers,)."""

    def draws(log_probs: Tensor, step: int) -> Draws:
        p = log_probs.exp()
        return Draws(p[None], torch.arange(len(p))[None, :, None], coefficients(p)[None, :, None])

    return draws


class SeedSpread(NamedTuple):
    """Std of a measure over seeds, and the end of the expected-gradient run: measure, step, answers."""

    deviation: float
    measure: float
    steps: int
    log_probs: Tensor

    def __repr__(self) -> str:
        return readable(self)


def spread_over_seeds(
    model: torch.nn.Module,
    log_probs: LogProbs,
    update: Update,
    measure: Measure,
    *,
    learning_rate: float | Callable[[int], float],
    batch: int,
    steps: int,
    optimiser: str = "sgd",
    until: Measure | None = None,
    checkpoint: int = 32,
    refresh: int = 1,
) -> SeedSpread:
    """Std over seeds of a measure, if each step draws `batch` answers, to first order in the noise.

    Parameters: model, whose parameters are trained and then restored; log_probs of all answers, or of all
    entries of its tables; update, its `Draws` (`decision_update` for single decisions); batch, answers of
    each row per step; measure, a scalar of the log-probabilities; learning_rate, a number or a function of
    the step; steps at most, or fewer if `until`, a scalar of the log-probabilities, crosses 0: every seed
    stops there at its own step, and is measured at the crossing. optimiser "sgd" or "adam" (torch's, without
    weight decay). Every `checkpoint`-th state is stored and the others are recomputed, which takes one more
    forward run. refresh: the gradient's variance, which drives Adam's second moment, is recomputed every so
    many steps; above 1 its own slope is neglected, and a step is some ten times as fast. Returns the std, the
    measure, the steps and the log-probabilities at the end. Raises ValueError for arguments out of range.
    Source: ours, entries `sampling_noise`.
    """
    choice("optimiser", optimiser, OPTIMISERS)
    integers("batch", batch, at_least=1)
    integers("steps", steps, at_least=1)
    integers("checkpoint", checkpoint, at_least=1)
    integers("refresh", refresh, at_least=1)
    if not callable(learning_rate):
        learning_rate = _constant(float(positive("learning_rate", learning_rate)))
    run = DifferentiableTraining(model, log_probs, update, batch, optimiser, learning_rate, refresh)
    spread = spread_along(run, steps, {"measure": measure}, until=until, checkpoint=checkpoint)
    value = float(measure(spread.log_probs))
    return SeedSpread(spread.deviations["measure"], value, spread.steps, spread.log_probs)


class SpreadAlong(NamedTuple):
    """Stds of several measures over seeds, the number of steps and the log-probabilities at the end."""

    deviations: Mapping[str, float]
    steps: int
    log_probs: Tensor


def spread_along(
    run: "DifferentiableTraining",
    steps: int,
    measures: Mapping[str, Measure],
    *,
    until: Measure | None = None,
    checkpoint: int = 32,
) -> SpreadAlong:
    """`spread_over_seeds` for several measures of one training, by name; without measures only the run's end.

    Source: ours, entries `sampling_noise`.
    """
    checkpoints: dict[int, State] = {}
    last: list[State] = []
    state, taken = run.start(), 0
    while taken < steps and not (until is not None and float(until(run.log_probs(state[0]))) >= 0):
        if taken % checkpoint == 0 and measures:
            checkpoints[taken] = state
        last = [*last[-3:], state]
        state = run.step(state, taken)
        taken += 1
    if not taken:
        raise argument_error("until", until, "below 0 at the start")
    adjoints: dict[str, State] = {}
    variances = dict.fromkeys(measures, 0.0)
    for name, measure in measures.items():
        passing = measure if until is None else _at_passing(measure, until, run, last[0], state)
        value, backward = vjp(lambda theta, at_end=passing: at_end(run.log_probs(theta)), state[0])[:2]
        slope = backward(torch.ones_like(value))[0]
        adjoints[name] = (slope, *(torch.zeros_like(part) for part in state[1:]))
    for begun in reversed(checkpoints):
        states = [checkpoints[begun]]
        for step in range(begun, min(begun + checkpoint, taken) - 1):
            states.append(run.step(states[-1], step))
        for step in reversed(range(begun, begun + len(states))):
            for name in measures:
                at = states[step - begun]
                adjoints[name], log_p, along = run.back(at, adjoints[name], step)
                variances[name] += run.noise(run.update(log_p, step), along)
    deviations = {name: math.sqrt(max(variance, 0.0)) for name, variance in variances.items()}
    return SpreadAlong(deviations, taken, run.log_probs(state[0]).detach())


def _at_passing(
    measure: Measure, until: Measure, run: "DifferentiableTraining", before: State, after: State
) -> Measure:
    """Measure corrected for stopping when `until` passes its level: its gain per `until` is subtracted."""
    begun, ended = run.log_probs(before[0]), run.log_probs(after[0])
    slope = float((measure(ended) - measure(begun)) / (until(ended) - until(begun)))
    return lambda log_p: measure(log_p) - slope * until(log_p)


def _constant(rate: float) -> Callable[[int], float]:
    return lambda step: rate


class DifferentiableTraining:
    """Expected-gradient run and its adjoint, on a flat vector of parameters."""

    def __init__(
        self,
        model: torch.nn.Module,
        log_probs: LogProbs,
        update: Update,
        batch: int,
        optimiser: str,
        rate: Callable[[int], float],
        refresh: int = 1,
    ) -> None:
        self.called, self.update = _LogProbModule(model, log_probs), update
        self.batch, self.adam, self.rate, self.refresh = batch, optimiser == "adam", rate, refresh
        self.named = {name: part.detach() for name, part in model.named_parameters() if part.requires_grad}
        self.sizes = [part.numel() for part in self.named.values()]
        self.variances: dict[int, Tensor] = {}

    def start(self) -> State:
        """Initial state: the flat parameter vector, and for Adam two zero vectors of moments."""
        theta = torch.cat([part.reshape(-1) for part in self.named.values()])
        return (theta, torch.zeros_like(theta), torch.zeros_like(theta)) if self.adam else (theta,)

    def parameters(self, theta: Tensor) -> dict[str, Tensor]:
        """Split a flat parameter vector into the model's parameters by name."""
        parts = zip(self.named.items(), torch.split(theta, self.sizes), strict=True)
        return {name: part.view(like.shape) for (name, like), part in parts}

    def log_probs(self, theta: Tensor) -> Tensor:
        """Log-probabilities (entries,) of the model at the flat parameters `theta`."""
        values = {f"model.{name}": value for name, value in self.parameters(theta).items()}
        return functional_call(self.called, values, ())

    def gradient(self, theta: Tensor, at: int) -> Tensor:
        """Expected gradient (parameters,) of step `at`, itself differentiable."""
        log_p, backward = vjp(self.log_probs, theta)[:2]
        draws = self.update(log_p, at)
        return backward(_weights(log_p, draws, draws.p[..., None] * draws.c))[0]

    def drawn(self, state: State, at: int, generator: torch.Generator) -> State:
        """Take one step on sampled answers: the noise itself, not its first order.

        The random part of an answer's advantage (`Draws.variance`) is normal; `Draws.shared` is left out.
        """
        with torch.no_grad():
            log_p, backward = vjp(self.log_probs, state[0])[:2]
            draws = self.update(log_p, at)
            drawn = torch.multinomial(draws.p, self.batch, replacement=True, generator=generator)
            counts = torch.zeros_like(draws.p).scatter_add(1, drawn, torch.ones_like(drawn).to(draws.p))
            c = counts[..., None] * draws.c
            if draws.weight is not None and draws.variance is not None:
                normal = torch.randn(counts.shape, generator=generator, dtype=counts.dtype)
                c = c + ((counts * draws.variance).sqrt() * normal)[..., None] * draws.weight
            gradient = backward(_weights(log_p, draws, c / self.batch))[0]
            after = self._optimiser_step(state, gradient, gradient * gradient, at)
            return tuple(part.detach() for part in after)

    def variance(self, theta: Tensor, at: int) -> Tensor:
        """Variance of the gradient of step `at` over the draws, (parameters,)."""
        slopes = jacrev(self.log_probs)(theta)
        return self._over_draws(self.update(self.log_probs(theta), at), slopes)

    def _over_draws(self, draws: Draws, slopes: Tensor) -> Tensor:
        """Variance of a step's gradient along directions, (...), from slopes of log-probs, (entries, ...)."""
        variance = torch.zeros_like(slopes[0])
        for row, (p, entries) in enumerate(zip(draws.p, draws.entries, strict=True)):

            def along(c: Tensor, row: int = row, entries: Tensor = entries) -> Tensor:
                moved = torch.zeros(len(entries), *slopes.shape[1:], dtype=slopes.dtype)
                for weight, at in zip(c[row].to(slopes).T, entries.T, strict=True):
                    moved = moved + weight[:, None] * slopes[at]
                return moved

            moved = along(draws.c)
            variance = variance + p.to(slopes) @ moved.square() - (p.to(slopes) @ moved).square()
            if draws.weight is None:
                continue
            score = along(draws.weight)
            if draws.variance is not None:
                variance = variance + (p * draws.variance[row]).to(slopes) @ score.square()
            if draws.shared is not None:
                variance = variance + ((p * draws.shared[row]).to(slopes) @ score).square()
        return variance / (self.batch * len(draws.p) ** 2)

    def _variance_at(self, theta: Tensor, at: int) -> Tensor:
        if self.refresh == 1:
            return self.variance(theta, at)
        begun = at - at % self.refresh
        if begun not in self.variances:
            self.variances[begun] = self.variance(theta, at).detach()
        return self.variances[begun]

    def _noisy_step(self, state: State, noise: Tensor, at: int) -> State:
        gradient = self.gradient(state[0], at) + noise
        square = gradient * gradient + self._variance_at(state[0], at) if self.adam else gradient
        return self._optimiser_step(state, gradient, square, at)

    def _optimiser_step(self, state: State, gradient: Tensor, square: Tensor, at: int) -> State:
        """State after the optimiser's step by a gradient; `square` drives Adam's second moment."""
        if not self.adam:
            return (state[0] + self.rate(at) * gradient,)
        theta, m, v = state
        first, second = _BETAS
        m = first * m + (1 - first) * gradient
        v = second * v + (1 - second) * square
        size = torch.sqrt(v / (1 - second ** (at + 1)) + 1e-16) + _EPSILON
        return theta + self.rate(at) * (m / (1 - first ** (at + 1))) / size, m, v

    def step(self, state: State, at: int) -> State:
        """State after the step number `at` by the expected gradient."""
        with torch.no_grad():
            return tuple(part.detach() for part in self._noisy_step(state, torch.zeros_like(state[0]), at))

    def back(self, state: State, adjoint: State, at: int) -> tuple[State, Tensor, Tensor]:
        """Adjoint before step `at`; the log-probabilities there, and their slopes along the noise."""
        still = torch.zeros_like(state[0])
        backward = vjp(lambda *parts: self._noisy_step(parts[:-1], parts[-1], at), *state, still)[1]
        *earlier, noise = backward(adjoint)
        # The slopes along the noise, by a product with the transposed Jacobian's own transpose.
        log_p, back = vjp(self.log_probs, state[0])[:2]
        along = vjp(lambda weights: back(weights)[0], torch.zeros_like(log_p))[1](noise)[0]
        return tuple(part.detach() for part in earlier), log_p.detach(), along.detach()

    def noise(self, draws: Draws, along: Tensor) -> float:
        """Variance of the measure that a step's draws add, from log-probability slopes `along` (entries,)."""
        with torch.no_grad():
            return float(self._over_draws(draws, along[:, None])[0])


def _weights(log_p: Tensor, draws: Draws, c: Tensor) -> Tensor:
    """Factor of each log-probability's gradient, (entries,), from token coefficients c of the draws."""
    return torch.zeros_like(log_p).index_add(0, draws.entries.reshape(-1), c.reshape(-1) / len(draws.p))


class _LogProbModule(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, log_probs: LogProbs) -> None:
        super().__init__()
        self.model, self.log_probs = model, log_probs

    def forward(self) -> Tensor:
        return self.log_probs(self.model)
