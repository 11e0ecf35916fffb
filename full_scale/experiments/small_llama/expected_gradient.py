"""Expected-gradient run of a run: its Llama, optimiser and schedule, without sampling.

The distance between its end and the stationary policy is due to too few steps; the distance between a run's
end and its own is sampling noise, whose std the adjoint gives. Entries: `sampling_noise`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from peft import get_peft_model
from torch import Tensor
from torch.distributions import Binomial
from torch.func import jacrev
from transformers import LlamaForCausalLM

from dph_theory.finite_training import drift_deviation
from dph_theory.finite_training.adjoint import DifferentiableTraining, Draws, group_baseline, spread_along
from dph_theory.finite_training.answers import answer_tokens, reward_less, update

from ..enumerable_tasks.base import build_base, longest_prefixes, next_token_log_probs
from ..enumerable_tasks.exact import Tables, exact
from ..enumerable_tasks.tasks import EnumerableTask, enumerable_task
from .finished_runs import FROZEN, TABULAR, ExpectedGradientRun, SampledEnd
from .predictions import distances, stationary_policies
from .runs import LlamaRun
from .training import adapter

LONGEST = {"adam": 250, "sgd": 1000}  # Maximal steps with noise, which takes five times as long as the run.
REFRESH = 10
"""Steps between computations of the gradient's variance, which drives Adam's second moment."""
SAMPLED = 12
"""Trainings on samples: if one in five runs missed, all would match by chance one time in fifteen."""


def train_in_expectation(run: LlamaRun, bases: Path, *, spreads: bool = True) -> ExpectedGradientRun:
    """Train the run by expected gradients, and propagate sampling noise for up to LONGEST steps."""
    spreads = spreads and run.steps <= LONGEST[run.optimiser]
    torch.set_num_threads(1)
    task = enumerable_task(run.task)
    base, exact_update, course = _course_of(run, task, bases)
    measures = {"pass_rate": exact_update.pass_rate} if spreads else {}
    # If every row has one correct answer, its share of them is 1.
    several = bool((exact_update.verdicts.sum(dim=-1) > 1).any())
    if spreads and several:
        measures["favourite_odds"] = exact_update.favourite_odds
    spread = spread_along(course, run.steps, measures)
    ended = _at_end(run, task, base, spread.log_probs, spread.deviations)
    has_rivals = spreads and several and run.form == "none" and task.length == 1
    return replace(ended, rivals=_rivals(course, exact_update, ended)) if has_rivals else ended


def _rivals(
    course: DifferentiableTraining, exact_update: "_ExpectedUpdate", ended: ExpectedGradientRun
) -> dict[str, float]:
    """Std of the favourite answer's log odds predicted by models cruder than the adjoint, by name."""
    run, (start, *_) = ended.run, course.start()
    log_p, slopes = course.log_probs(start).detach(), jacrev(course.log_probs)(start).detach()
    linear = _Linear(log_p, slopes, len(log_p) // len(exact_update.verdicts))
    frozen = DifferentiableTraining(
        model=linear,
        log_probs=lambda model: model(),
        update=exact_update,
        batch=course.batch,
        optimiser=run.optimiser,
        rate=course.rate,
        refresh=REFRESH,
    )
    deviations = dict(spread_along(frozen, run.steps, {FROZEN: exact_update.favourite_odds}).deviations)
    right = exact_update.entries[0, exact_update.verdicts[0] > 0, 0]
    if run.optimiser == "sgd" and run.constant and len(right) > 1:
        apart = slopes[right[0]] - slopes[right[1]]
        deviations[TABULAR] = float(
            drift_deviation(
                float(exact_update.pass_rate(log_p)),
                fmean(ended.exact.pass_rate),
                valid=len(right),
                invalid=linear.vocabulary - len(right),
                step=run.learning_rate * float(apart.square().sum()) / 2,
                answers=course.batch,
                baseline="mean" if run.baseline == "leave_one_out" else run.baseline,
                group_size=run.group_size if run.scale == "group" else None,
            )
        )
    return deviations


class _Linear(torch.nn.Module):
    """First-order model: log-probabilities that move along their initial slopes."""

    def __init__(self, log_p: Tensor, slopes: Tensor, vocabulary: int) -> None:
        super().__init__()
        self.log_p, self.slopes, self.vocabulary = log_p, slopes.to(log_p), vocabulary
        self.moved = torch.nn.Parameter(torch.zeros(slopes.shape[1], dtype=log_p.dtype))

    def forward(self) -> Tensor:
        """Log-probabilities of all tables' entries, flattened and joined, (entries,)."""
        logits = self.log_p + self.slopes @ self.moved
        return logits.view(-1, self.vocabulary).log_softmax(dim=-1).reshape(-1)


def sampled_ends(run: LlamaRun, bases: Path, seeds: int) -> tuple[SampledEnd, ...]:
    """Ends of `seeds` trainings on sampled answers, which include sampling noise beyond first order."""
    torch.set_num_threads(1)
    task = enumerable_task(run.task)
    base, _, course = _course_of(run, task, bases)
    ends = []
    for seed in range(seeds):
        generator, state = torch.Generator().manual_seed(seed), course.start()
        for step in range(run.steps):
            state = course.drawn(state, step, generator)
        with torch.no_grad():
            end = _at_end(run, task, base, course.log_probs(state[0]), {})
        ends.append(SampledEnd(end.gap, next(iter(end.kl.values()), 0.0)))
    return tuple(ends)


def _at_end(
    run: LlamaRun, task: EnumerableTask, base: Tables, log_probs: Tensor, deviations: Mapping[str, float]
) -> ExpectedGradientRun:
    tables = _tables_from(task, log_probs)
    policies = stationary_policies(run, task, base)
    own = next(iter(policies.values()), None)
    return ExpectedGradientRun(
        run,
        exact(task, tables, base),
        kl=distances(task, tables, policies),
        deviations=deviations,
        predicted_pass_rate=None if own is None else exact(task, own, base).pass_rate,
    )


def _course_of(
    run: LlamaRun, task: EnumerableTask, bases: Path
) -> tuple[Tables, "_ExpectedUpdate", DifferentiableTraining]:
    """Base tables, the run's expected update, and the differentiable training from the base."""
    rows = longest_prefixes(task.prompt_ids, task.vocabulary, task.length)

    def log_probs(model: Any) -> Tensor:
        tables = next_token_log_probs(model, rows, len(task.prompt_ids), task.vocabulary, task.length)
        return torch.cat([table.reshape(-1) for table in tables]).double()

    def rate(step: int) -> float:
        return run.learning_rate * (1.0 if run.constant else 1 - step / run.steps)

    model: Any = LlamaForCausalLM.from_pretrained(build_base(task, bases), attn_implementation="eager")
    model.eval()
    with torch.no_grad():
        log_base = log_probs(model)
    if run.rank is not None:
        torch.manual_seed(run.seed)
        model = get_peft_model(model, adapter(run.rank)).eval()
    exact_update = _ExpectedUpdate(run, task, log_base)
    batch = run.group_size * run.groups
    course = DifferentiableTraining(model, log_probs, exact_update, batch, run.optimiser, rate, REFRESH)
    return _tables_from(task, log_base), exact_update, course


class _ExpectedUpdate:
    """Update of a run's rows, for `DifferentiableTraining`; beta is that of the step."""

    def __init__(self, run: LlamaRun, task: EnumerableTask, log_base: Tensor) -> None:
        tokens = answer_tokens(task.vocabulary, task.length, task.end)
        sizes = task.vocabulary ** np.arange(1, task.length + 1)
        starts = np.concatenate([[0], sizes.cumsum()[:-1]])
        texts = np.array(task.texts)[:, None, None]
        # Table t of all texts precedes table t+1 of any.
        entries = tokens.entries + (len(task.prompt_ids) - 1) * starts + texts * sizes
        self.run, self.log_base = run, log_base
        self.counted = torch.from_numpy(tokens.counted)
        self.entries = torch.from_numpy(np.where(tokens.counted, entries, 0))
        self.verdicts = torch.from_numpy(tokens.per_answer(task.valid).astype(float))
        self.lengths = torch.from_numpy(tokens.lengths.astype(float))
        likeliest = (self._masses(log_base) * self.verdicts).argmax(-1, keepdim=True)
        self.favourite = torch.zeros_like(self.verdicts).scatter(1, likeliest, 1.0)
        self.length = task.length

    def __call__(self, log_probs: Tensor, step: int) -> Draws:
        run = self.run
        log_policy, log_base = (
            torch.where(self.counted, values[self.entries], 0.0) for values in (log_probs, self.log_base)
        )
        verdicts, p = self.verdicts, log_policy.sum(-1).exp()
        pass_rate = (p * verdicts).sum(-1, keepdim=True)
        advantage, spread = _advantage(run)(verdicts, pass_rate)
        weight = self._weight(p)
        _, c = update(
            torch,
            log_policy,
            log_base,
            verdicts,
            form=run.form,
            beta=run.beta_at(step),
            advantage=lambda v, rate: advantage,
        )
        variance, shared = spread.square().expand_as(p), None
        if (size := _baseline_size(run)) is not None:
            compared = verdicts if run.baseline in ("mean", "leave_one_out") else torch.zeros_like(verdicts)
            if run.form == "sequence_kl":
                compared = compared - run.beta_at(step) * (log_policy - log_base).sum(-1)
            added, shared = group_baseline(p, compared, size)
            variance = variance + added
        c, weight = (torch.where(self.counted, part * weight, 0.0) for part in (c, torch.ones_like(c)))
        return Draws(p, self.entries, c, weight, variance, shared)

    def _masses(self, log_probs: Tensor) -> Tensor:
        return torch.where(self.counted, log_probs[self.entries], 0.0).sum(-1).exp()

    def pass_rate(self, log_probs: Tensor) -> Tensor:
        """Mean pass rate over rows, a scalar, from flattened log-probabilities."""
        return (self._masses(log_probs) * self.verdicts).sum(-1).mean()

    def favourite_odds(self, log_probs: Tensor) -> Tensor:
        """Log odds, a scalar, of the base's likeliest correct answer among correct ones, rows averaged."""
        valid = self._masses(log_probs) * self.verdicts
        return ((valid * self.favourite).sum(-1) / valid.sum(-1)).mean().logit()

    def _weight(self, p: Tensor) -> Tensor:
        """Factor of each token's loss: 1 over the mean (DAPO) or over the maximal answer length."""
        if self.run.dapo:
            return 1 / (p * self.lengths).sum(-1).mean()
        return torch.tensor(1 / self.length, dtype=p.dtype)


def _baseline_size(run: LlamaRun) -> float | None:
    """Number of answers in the mean that each answer is compared with; None for a constant or a divisor."""
    # TRL's mean is that of the whole group: 1 - 1/G times the difference to the others.
    if run.scale == "group" or run.group_size == 1:
        return None
    if run.baseline == "leave_one_out" or run.form == "sequence_kl":
        return run.group_size - 1
    return run.group_size**2 / (run.group_size - 1) if run.baseline == "mean" else None


def _advantage(run: LlamaRun) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Function (mean reward v, pass rate V) -> mean and std of an answer's advantage in a random group."""

    def plain(v: Tensor, rate: Tensor) -> tuple[Tensor, Tensor]:
        share = 1 - 1 / run.group_size if run.baseline == "mean" and run.form != "sequence_kl" else 1.0
        name = "mean" if run.baseline == "leave_one_out" else run.baseline
        return share * reward_less(name)(v, rate), torch.zeros_like(v)

    def scaled(v: Tensor, rate: Tensor) -> tuple[Tensor, Tensor]:
        others_correct = torch.arange(run.group_size, dtype=v.dtype)
        size, successes = run.group_size, Binomial(run.group_size - 1, probs=rate.clamp(1e-12, 1 - 1e-12))
        chance = successes.log_prob(others_correct).exp()
        means, squares = [], []
        for own in (0, 1):
            right = others_correct + own
            deviation = (right * (size - right) / (size * (size - 1))).sqrt()
            advantage = torch.where(deviation > 0, (own - right / size) / deviation.clamp(min=1e-9), 0.0)
            means.append((chance * advantage).sum(-1, keepdim=True))
            squares.append((chance * advantage**2).sum(-1, keepdim=True))
        mean = v * means[1] + (1 - v) * means[0]
        second = v * squares[1] + (1 - v) * squares[0]
        return mean, (second - mean**2).clamp(min=0).sqrt()

    return scaled if run.scale == "group" else plain


def _tables_from(task: EnumerableTask, log_probs: Tensor) -> Tables:
    shapes = [(len(task.prompt_ids), *[task.vocabulary] * (t + 1)) for t in range(task.length)]
    parts = log_probs.detach().exp().split([math.prod(shape) for shape in shapes])
    tables = [part.numpy().reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    return [table / table.sum(axis=-1, keepdims=True) for table in tables]


def with_samples(expected: ExpectedGradientRun, bases: Path) -> ExpectedGradientRun:
    """Add SAMPLED trainings on samples to the expected-gradient run."""
    return replace(expected, sampled=sampled_ends(expected.run, bases, SAMPLED))
