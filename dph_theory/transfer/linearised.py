"""The training of the linearised model: any method, from the base's kernel of answers alone.

The logits of all answers move as their gradients at the base say, dl = Theta c, c what the loss of sampled
answers asks of each: exact while gradients stay as they are. Nothing is fitted. What training does to prompts
that it does not touch, the loss of correct answers by sampling noise, and what a divergence on some prompts
does for others follow, a training in a fraction of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from ..coverage import exact_pass_at_k
from ..fdivergence import FDivergence
from ..losses.objective import Objective
from ..numeric.arrays import Scalars, booleans, integers, positive, real, scalar
from ..stationary.groups import SCALES, group_weight, mixed_share
from ..stationary.response import require_smooth
from ..support.errors import argument_error, choice
from .flow import prompt_indices
from .kernel import AnswerKernel

OPTIMISERS = ("adam", "sgd")
MOMENTA = (0.9, 0.99)
"""Decay rates of the mean and of the mean square."""
HOLDS_TO = 1.0
"""The base's kernel forecasts sizes only while the first step moves log odds by less than this.

Source: ours, forecasts stored before their runs (figures/numbers/pretrained.json).
"""
FARTHEST = 30.0
"""From zero, of log odds."""
_SAME = 1e-9
"""Rewards of a group that spread less count as equal."""


@dataclass(frozen=True)
class Hold:
    """A divergence to the base on some prompts, by answers that the base gave and that were stored.

    DPH's rehearsal: solved prompts, their correct answers alone. Anchors: any prompts, all answers.
    `prompts` are indices in the kernel; `answers` stored of each, None for all of them at their exact shares.
    """

    prompts: tuple[int, ...]
    divergence: FDivergence
    strength: float
    correct_only: bool = True
    answers: int | None = 64

    def __post_init__(self) -> None:
        prompts = integers("prompts", self.prompts, at_least=0)
        if prompts.ndim != 1:
            raise argument_error("prompts", self.prompts, "indices of prompts")
        object.__setattr__(self, "prompts", tuple(map(int, prompts)))
        require_smooth(self.divergence)
        strength = scalar("strength", real("strength", self.strength, at_least=0, below=np.inf))
        object.__setattr__(self, "strength", strength)
        scalar("correct_only", booleans("correct_only", self.correct_only))
        if self.answers is not None:
            answers = scalar("answers", integers("answers", self.answers, at_least=1))
            object.__setattr__(self, "answers", int(answers))


@dataclass(frozen=True)
class LinearisedMethod:
    """Training method of the linearised model: advantage, divergence to the base, and rehearsal.

    The advantage is the reward minus its group's mean, divided according to `scale`.

    Args:
        scale: Divisor of the advantage, one of `stationary.SCALES`.
        group_size: Answers per prompt and step.
        beta: Coefficient of the divergence, in units of reward.
        divergence: Divergence to the base, estimated on the same answers (f'(u) - f'(1) at each).
        in_reward: Subtract the divergence from the reward, before the group's mean; else add it to the loss.
        mean_over_mixed: Average advantages over groups with both rewards only. A divergence in the loss is
            averaged over all groups.
        alpha: Parameter of alpha-DPG, whose target is the base's correct answers; None for other methods.
        holds: Divergences on other prompts, added with their coefficients.

    Raises:
        ValueError: If an argument is out of range, or `beta` is positive without a divergence.
    """

    scale: str = "std"
    group_size: int = 16
    beta: float = 0.0
    divergence: FDivergence | None = None
    in_reward: bool = False
    mean_over_mixed: bool = False
    alpha: float | None = None
    holds: tuple[Hold, ...] = field(default=())

    def __post_init__(self) -> None:
        choice("scale", self.scale, SCALES)
        size = int(scalar("group_size", integers("group_size", self.group_size, at_least=2)))
        beta = scalar("beta", real("beta", self.beta, at_least=0, below=np.inf))
        alpha = None if self.alpha is None else scalar("alpha", positive("alpha", self.alpha))
        for name, number in (("group_size", size), ("beta", beta), ("alpha", alpha)):
            object.__setattr__(self, name, number)
        if beta and self.divergence is None:
            raise argument_error("divergence", None, "an FDivergence where beta is not 0")
        if self.divergence is not None:
            require_smooth(self.divergence)
        for name in ("in_reward", "mean_over_mixed"):
            scalar(name, booleans(name, getattr(self, name)))
        if not isinstance(self.holds, tuple) or not all(isinstance(hold, Hold) for hold in self.holds):
            raise argument_error("holds", self.holds, "a tuple of Hold")

    @classmethod
    def from_objective(cls, objective: Objective) -> "LinearisedMethod":
        """Method that follows an objective's gradient; ValueError if that gradient is not known."""
        scale, kl = objective.advantage.scale, objective.divergence
        if objective.undecided or (objective.coefficient and kl is None):
            raise ValueError(f"no forecast: {objective.unknown}")
        if scale is None:
            raise ValueError(f"no forecast: the advantage is {objective.advantage.words}")
        in_reward = kl is not None and not objective.of_tokens
        beta, size = objective.coefficient if kl else 0.0, objective.group_size or 2
        return cls(scale, size, beta, kl, in_reward, objective.mixed_only)


@dataclass(frozen=True, eq=False)
class TrainingCurves:
    """The pass rates of a training's seeds after each step, (seeds, steps + 1, prompts)."""

    rates: Float[np.ndarray, "seeds times prompts"]

    def pass_at_k(self, prompts: Sequence[int] | np.ndarray, k: Scalars) -> np.ndarray:
        """Mean Pass@k over these prompts, shape (seeds, steps + 1, *k.shape)."""
        k, chosen = integers("k", k, at_least=1), prompt_indices("prompts", prompts, self.rates.shape[-1])
        rates = self.rates[..., chosen][(..., *[None] * k.ndim)]
        return np.asarray(exact_pass_at_k(rates, k)).mean(axis=2)

    @property
    def log_odds(self) -> Float[np.ndarray, "times prompts"]:
        """Log odds of the mean rates over seeds, cut at FARTHEST from zero."""
        rates = self.rates.mean(axis=0)
        with np.errstate(divide="ignore"):
            return np.clip(np.log(rates) - np.log1p(-rates), -FARTHEST, FARTHEST)

    def first_move(self, prompts: Sequence[int] | np.ndarray) -> float:
        """Root mean square, over these prompts, of the change of log odds in the first step."""
        start, after = self.log_odds[:2, prompt_indices("prompts", prompts, self.rates.shape[-1])]
        return float(np.sqrt(np.mean((after - start) ** 2)))


def linearised_training(
    kernel: AnswerKernel,
    method: LinearisedMethod,
    trained: Sequence[int] | np.ndarray,
    *,
    steps: int,
    step: float,
    optimiser: str = "adam",
    batch: int | None = None,
    seeds: int = 8,
    seed: int = 0,
    noise: bool = True,
) -> TrainingCurves:
    """Train the linearised model on some prompts, with a group of answers per prompt and step.

    Args:
        kernel: Kernel of the answers at the base.
        method: Advantage, divergence and rehearsal.
        trained: Indices or mask of the trained prompts. Prompts of `method.holds` are rehearsed instead.
        steps: Number of steps.
        step: For "sgd" the learning rate. For "adam" the length of a step along the gradient: the learning
            rate times |g|_1/|g|_2 of the base's gradient g, which a measured kernel contains.
        optimiser: "adam" or "sgd". Adam's second moment is that of the whole gradient.
        batch: Prompts per step; all by default.
        seeds: Number of trainings, computed side by side.
        seed: Seed of the first training.
        noise: Sample the answers. False uses the expected gradient, which is not available for
            `mean_over_mixed` with rewards other than 0 and 1 (a KL in the reward, alpha-DPG).

    Returns:
        Pass rates along the trainings.

    Raises:
        ValueError: If an argument is out of range, or the pass rates overflow.

    Source: ours, theory N.
    """
    schedule: Any = {"steps": steps, "step": step, "optimiser": optimiser, "batch": batch, "noise": noise}
    return linearised_trainings(kernel, [(method, seeds)], trained, seed=seed, **schedule)[0]


def linearised_trainings(
    kernel: AnswerKernel,
    methods: Sequence[tuple[LinearisedMethod, int]],
    trained: Sequence[int] | np.ndarray,
    *,
    steps: int,
    step: float,
    optimiser: str = "adam",
    batch: int | None = None,
    seed: int = 0,
    noise: bool = True,
) -> tuple[TrainingCurves, list[TrainingCurves | None]]:
    """Forecasts of several methods side by side, each with its number of seeds.

    Returns the curves of the first, and of the others, None where one overflows; ValueError where that is the
    first. All have their own draws, as if alone.
    """
    choice("optimiser", optimiser, OPTIMISERS)
    explored = prompt_indices("trained", trained, len(kernel.names))
    step, seed = (
        scalar("step", positive("step", step)),
        int(scalar("seed", integers("seed", seed, at_least=0))),
    )
    steps = int(scalar("steps", integers("steps", steps, at_least=1)))
    noise = bool(scalar("noise", booleans("noise", noise)))
    runs, rows = list[_TouchedAnswers](), [0]
    for method, number in methods:
        seeds = int(scalar("seeds", integers("seeds", number, at_least=1)))
        of_verdicts = method.alpha is None and not (method.in_reward and method.beta)
        if not noise and method.mean_over_mixed and not of_verdicts:
            allowed = "True for mixed groups whose rewards are others than 0 and 1"
            raise argument_error("noise", noise, allowed)
        runs.append(_TouchedAnswers(kernel, method, explored, noise, batch, seeds, seed))
        rows.append(rows[-1] + seeds)
    # All runs share two products with the gradients of answers: so a step reads them twice.
    gradients = np.zeros((rows[-1], kernel.prompt.size), kernel.gradients.dtype)
    mean, square = np.zeros((rows[-1], kernel.gradients.shape[1]), gradients.dtype), np.zeros(rows[-1])
    parts = [slice(*ends) for ends in pairwise(rows)]
    with np.errstate(over="ignore", invalid="ignore"):  # What overflows is left out.
        for taken in range(1, steps + 1):
            for run, part in zip(runs, parts, strict=True):
                gradients[part] = run.logit_gradient() if run.is_finite else 0.0
            direction = gradients @ kernel.gradients
            if optimiser == "adam":
                size = np.einsum("rd,rd->r", direction, direction, dtype=float)
                keep, keep_square = MOMENTA
                mean = keep * mean + (1 - keep) * direction
                square = keep_square * square + (1 - keep_square) * size
                mean_square = np.maximum(square / (1 - keep_square**taken), 1e-300)
                direction = mean / (1 - keep**taken) / np.sqrt(mean_square)[:, None].astype(mean.dtype)
            moves = direction @ kernel.gradients.T
            for run, part in zip(runs, parts, strict=True):
                run.move(step * moves[part].astype(float))
            if not runs[0].is_finite:
                allowed = "smaller, or beta, alpha and strengths: the gradient overflows"
                raise argument_error("step", step, allowed)
    curves = [TrainingCurves(np.stack(run.rates, axis=1)) if run.is_finite else None for run in runs[1:]]
    return TrainingCurves(np.stack(runs[0].rates, axis=1)), curves


class _TouchedAnswers:
    """The answers that a training touches, as a table of prompts x answers, and what it asks of them."""

    def __init__(
        self, kernel: AnswerKernel, method: LinearisedMethod, trained: np.ndarray, noise: bool,
        batch: int | None, seeds: int, seed: int,
    ) -> None:  # fmt: skip
        self.kernel, self.method, self.noise, self.base = kernel, method, noise, kernel.log_p
        count = len(kernel.names)
        self.holds = [prompt_indices("prompts of a hold", hold.prompts, count) for hold in method.holds]
        pinned = np.unique(np.concatenate([[], *self.holds]))
        self.prompts = np.union1d(trained, pinned).astype(int)
        explored = np.isin(self.prompts, trained) & ~np.isin(self.prompts, pinned)
        if not explored.any():
            raise argument_error("trained", trained, "at least one prompt that is not held")
        self.explored, ends = explored, [*kernel.starts[1:], len(kernel.prompt)]
        most = int(explored.sum())
        drawn = most if batch is None else scalar("batch", integers("batch", batch, at_least=1))
        self.batch = min(most, int(drawn))
        sizes = np.array(ends)[self.prompts] - kernel.starts[self.prompts]
        self.present = np.arange(sizes.max()) < sizes[:, None]
        self.place = np.where(self.present, kernel.starts[self.prompts, None] + np.arange(sizes.max()), 0)
        self.correct = kernel.correct[self.place] & self.present
        self.log_ref = np.where(self.present, self.base[self.place], -np.inf)
        self.ref = np.exp(self.log_ref)
        self.generator, self.is_finite = np.random.default_rng(seed), True
        self.stored_shares = self._stored_shares(seeds)
        self.log_p = np.repeat(self.base[None], seeds, axis=0)
        self.rates = [self._pass_rates(self.log_p)]

    def move(self, change: np.ndarray) -> None:
        """Change the log-probabilities of all answers, (seeds, answers), as long as they are finite."""
        if self.is_finite:
            self.log_p = self.log_p + change
            self.rates.append(self._pass_rates(self.log_p))
            self.is_finite = bool(np.isfinite(self.rates[-1]).all() and (self.log_p < np.inf).all())

    def _pass_rates(self, log_p: np.ndarray) -> np.ndarray:
        """Pass rates of all prompts, (seeds, prompts)."""
        kernel = self.kernel
        top = np.maximum.reduceat(log_p, kernel.starts, axis=1)[:, kernel.prompt]
        mass = np.exp(log_p - top)
        total = np.add.reduceat(mass, kernel.starts, axis=1)
        return np.asarray(np.add.reduceat(mass * kernel.correct, kernel.starts, axis=1) / total)

    def _stored_shares(self, seeds: int) -> list[np.ndarray]:
        """Shares of stored answers, (seeds, prompts, answers), one array per rehearsal or KL on prompts."""
        shares = []
        for hold, prompts in zip(self.method.holds, self.holds, strict=True):
            share = self.ref * (self.correct if hold.correct_only else 1)
            total = share.sum(axis=1, keepdims=True)
            share = np.where(total > 0, share / np.maximum(total, 1e-300), 0.0)
            share = np.repeat((share * np.isin(self.prompts, prompts)[:, None])[None], seeds, axis=0)
            if hold.answers is not None:
                share = _counts(self.generator, hold.answers, share) / hold.answers
            shares.append(share)
        return shares

    def logit_gradient(self) -> np.ndarray:
        """Gradient of the objective in each answer's logit, (seeds, answers); zero for untouched answers."""
        logits = np.where(self.present, self.log_p[:, self.place], -np.inf)
        logits = logits - logits.max(axis=-1, keepdims=True)
        p = np.exp(logits)
        total = p.sum(axis=-1, keepdims=True)
        p = p / total
        with np.errstate(invalid="ignore"):
            x = np.where(np.isfinite(self.log_ref), logits - np.log(total) - self.log_ref, 0.0)
        size, chosen = self.method.group_size, self._chosen(len(p))
        share = _counts(self.generator, size, p * chosen[..., None]) / size if self.noise else p
        gradient = share * chosen[..., None] * self._coefficient(p, x, share, chosen) / self.batch
        for hold, answers in zip(self.method.holds, self.stored_shares, strict=True):
            slope = hold.divergence.on_log_ratio(x).derivative
            slope = np.where(answers > 0, answers * slope, 0.0)
            gradient = gradient - hold.strength / len(hold.prompts) * slope
        scores = np.zeros_like(self.log_p)
        scores[:, self.place[self.present]] = (gradient - p * gradient.sum(axis=-1, keepdims=True))[
            :, self.present
        ]
        return scores

    def _chosen(self, seeds: int) -> np.ndarray:
        """Mask (seeds, prompts) of the prompts in a step's batch, drawn among the trained ones."""
        explored = np.repeat(self.explored[None], seeds, axis=0)
        if self.batch == self.explored.sum():
            return explored
        order = (
            np.where(explored, self.generator.random(explored.shape), np.inf).argsort(axis=1).argsort(axis=1)
        )
        return order < self.batch

    def _coefficient(self, p: np.ndarray, x: np.ndarray, share: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Factor of each answer's score, (seeds, prompts, answers): advantage minus divergence slope."""
        method, reward = self.method, self.correct.astype(float)
        if method.alpha is not None:
            reward = self._target_reward(p, method.alpha)
        slope: Any = 0.0
        if method.divergence is not None and method.beta:
            # f'(u) - f'(1): an answer's share of the divergence moves by it as its ratio u does.
            slope = np.exp(-x) * method.divergence.on_log_ratio(x, gauge="normalised").derivative
        if method.in_reward:
            reward = reward - method.beta * slope
        mean = (share * reward).sum(axis=-1, keepdims=True)
        rate = (share * self.correct).sum(axis=-1, keepdims=True)
        advantage = (reward - mean) * self._weight(share, reward, mean, rate)
        if method.mean_over_mixed:
            advantage = advantage * self._of_mixed(rate, chosen[..., None])
        return advantage if method.in_reward else advantage - method.beta * slope

    def _of_mixed(self, rate: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Weight of a group if groups of equal rewards are dropped, relative to the mean over all groups."""
        if self.noise:
            mixed = (rate > 0) & (rate < 1) & chosen
            return np.asarray(mixed * self.batch / np.maximum(mixed.sum(axis=1, keepdims=True), 1))
        # Groups that agree add nothing. Beside a mixed one M of the others are: E 1/(1+M) = int_0^1 E t^M dt.
        right, wrong = mixed_share(self.method.group_size, rate)
        chance = np.where(chosen, rate * right + (1 - rate) * wrong, 0.0)
        points, weights = np.polynomial.legendre.leggauss(self.batch // 2 + 1)
        logs = np.log1p(chance * (points - 1) / 2)
        powers = np.exp(logs.sum(axis=1, keepdims=True) - logs)
        return np.asarray(self.batch / 2 * (powers @ weights)[..., None])

    def _weight(
        self, share: np.ndarray, reward: np.ndarray, mean: np.ndarray, rate: np.ndarray
    ) -> np.ndarray:
        """Factor 1/divisor of a group's centred rewards, (seeds, prompts); without noise alpha_G(V)."""
        size, scale = self.method.group_size, self.method.scale
        if not self.noise and not self.method.in_reward and self.method.alpha is None:
            return group_weight(size, rate, scale)
        # A group's mean takes 1/G of what an answer is above it; the expectation takes nothing.
        above_mean = 1.0 if self.noise else 1 - 1 / size
        if scale in ("std", "population_std"):
            spread = np.sqrt((share * (reward - mean) ** 2).sum(axis=-1, keepdims=True))
            spread = spread * np.sqrt(size / (size - 1)) if scale == "std" and self.noise else spread
        else:
            spread = np.abs(mean) if scale == "mean" else SCALES[scale](np.ones(1), size)
        return np.where(spread > _SAME, above_mean / np.maximum(spread, _SAME), 0.0)

    def _target_reward(self, p: np.ndarray, alpha: float) -> np.ndarray:
        """alpha-DPG's reward ((p_*/pi)^alpha - 1)/alpha of each answer, (seeds, prompts, answers).

        Source: entries `alpha_dpg`.
        """
        target = self.ref * self.correct
        target = target / np.maximum(target.sum(axis=1, keepdims=True), 1e-300)
        with np.errstate(divide="ignore"):
            return np.asarray(np.expm1(alpha * np.log(target / np.maximum(p, 1e-300))) / alpha)


def _counts(generator: np.random.Generator, count: int, shares: np.ndarray) -> np.ndarray:
    """Counts of `count` draws from the shares on the last axis, in their shape; 0 in rows without shares."""
    total = shares.sum(axis=-1, keepdims=True)
    drawn = generator.multinomial(count, np.where(total > 0, shares / np.where(total > 0, total, 1), 0.0))
    # What rounding leaves over falls on the last answer: a row without shares draws nothing.
    return np.asarray(np.where(total > 0, drawn, 0), dtype=float)
