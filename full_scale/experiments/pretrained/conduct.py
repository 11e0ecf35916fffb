"""Runs of the pretrained Llama in expectation, under TRL, and with a baseline; and their predictions."""

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor
from transformers import PrinterCallback

from dph_theory.finite_training import SmallNoiseWarning, drift_deviation
from dph_theory.finite_training.training import (
    DifferentiableTraining,
    Draws,
    Update,
    group_baseline,
    spread_along,
)
from dph_theory.stationary import valid_answer_shares

from ...training.online import OnlineTrainer
from ..enumerable_tasks.tasks import EnumerableTask
from ..small_llama.predictions import distances, stationary_policy
from ..small_llama.runs import SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun
from ..small_llama.training import FallingBeta, small
from .losses import baseline_loss, expected_loss
from .noise import NoiseForecast
from .open_prompts import open_prompts
from .reading import LogProbs, Reading
from .runs import ANSWERS, BASELINES, FinishedOpenRun, OpenRun, policy_form
from .stationary import PredictedEnd
from .training import (
    PretrainedLlama,
    descend,
    peak,
    pretrained_llama,
    prompts_of,
    train_on_samples,
    whole_answers,
)

# Stationary policy of each form of the KL.
POLICIES = {"reward": SEQUENCE, "k3_corrected": TOKEN_REVERSE, "k3": TOKEN_FORWARD}


def conduct(path: str, run: OpenRun, pinned: tuple[int, ...] = ()) -> FinishedOpenRun:
    """Conduct a run of any kind, from the model at the path, with its anchored texts."""
    if run.trainer == "trl":
        return train_under_trl(path, run)
    if run.seed is None:
        return train_in_expectation(path, run)
    if run.baseline is not None:
        return train_with_baseline(path, run)
    return train_on_samples(path, run, pinned)


def policy_tables(kl: str, task: EnumerableTask, beta: float) -> list[np.ndarray]:
    """Tables of the stationary policy on each text."""
    return stationary_policy(POLICIES[kl], task, task.base, np.full(len(task.valid), beta))


def predicted_ends(path: str, run: OpenRun) -> dict[str, PredictedEnd]:
    """All three stationary policies at the run's beta, from the base's own tables."""
    llama = pretrained_llama(path)
    reading = llama.reading(run.tasks)
    tasks = {name: reading.enumerable(name, tables) for name, tables in llama.base(reading).items()}
    ends = {kl: PredictedEnd({}, {}) for kl in POLICIES}
    for kl, (name, task) in product(POLICIES, tasks.items()):
        tables = policy_tables(kl, task, run.coefficient)
        right = valid_answer_shares(tables, task.valid, task.end)
        first = right.reshape(len(right), task.vocabulary, -1).sum(axis=2)[:, :-1]
        ends[kl].pass_rate[name] = float(task.pass_rates(tables).mean())
        ends[kl].first_shares[name] = tuple(first.mean(axis=0).tolist())
    return ends


def train_in_expectation(path: str, run: OpenRun) -> FinishedOpenRun:
    """Train the run without noise, and measure its distance from each stationary policy."""
    llama = pretrained_llama(path)
    reading = llama.reading(run.tasks)
    base = llama.base(reading)
    words = {name: reading.word_ids(name) for name in run.tasks}
    valid = {name: reading.valid(name) for name in run.tasks}

    def loss(step: int, log_probs: Mapping[str, LogProbs]) -> Tensor:
        beta = run.coefficient_at(step)
        parts = [
            expected_loss(log_probs[name], base[name], words[name], valid[name], form=run.kl, beta=beta)
            for name in run.tasks
        ]
        return torch.stack(parts).mean()

    outcome = descend(llama, run, loss, reading, reading, every=max(1, run.steps // 6))
    divergences, gap = beside_predictions(llama, reading, run)
    return replace(outcome, distances=divergences, gap=gap)


def beside_predictions(
    llama: PretrainedLlama, reading: Reading, run: OpenRun
) -> tuple[dict[str, float], float]:
    """Distance of the model from each stationary policy, and of its mean pass rate from the own form's.

    Distances are means over the reading's tasks; the pass rate is of the task with the largest difference.
    """
    with torch.no_grad():
        log_probs = reading.log_probs(llama.model)
    ends = {name: reading.enumerable(name, full) for name, full in log_probs.items()}
    bases = {name: reading.enumerable(name, full) for name, full in llama.base(reading).items()}
    divergences, gaps = [], []
    for name, end in ends.items():
        policies = {kl: policy_tables(kl, bases[name], run.coefficient) for kl in POLICIES}
        divergences.append(distances(end, end.base, policies))
        rates, predicted = end.pass_rates(end.base), bases[name].pass_rates(policies[policy_form(run.kl)])
        gaps.append(abs(float(rates.mean() - predicted.mean())))
    return {kl: fmean(of_task[kl] for of_task in divergences) for kl in POLICIES}, max(gaps)


def train_under_trl(path: str, run: OpenRun) -> FinishedOpenRun:
    """Train the run of one prompt by TRL's own trainer, loss and optimiser; we add the KL in the reward."""
    begun, llama, (name,) = time.monotonic(), pretrained_llama(path), run.tasks
    reading, task = llama.reading(run.tasks), open_prompts(name)
    llama.base(reading)
    points = [llama.measure(0, reading)]
    settings = LlamaRun(
        experiment="trl", task=name, form="sequence_kl" if run.kl == "reward" else run.kl,
        beta=run.coefficient, beta_from=run.coefficient_from, learning_rate=run.learning_rate,
        steps=run.steps, seed=run.seed or 0, group_size=ANSWERS,
    )  # fmt: skip
    words = reading.word_ids(name).tolist()
    right = {tuple(words[place] for place in answer) for answer in reading.valid(name)[0].nonzero().tolist()}

    def verdicts(*, completion_ids: list[list[int]], **columns: Any) -> list[float]:
        return [float(tuple(answer) in right) for answer in completion_ids]

    with TemporaryDirectory() as output:
        trainer = OnlineTrainer(
            model=llama.model,
            reward_funcs=verdicts,
            args=small(task.length, output, ANSWERS, **settings.arguments),
            train_dataset=Dataset.from_list([{"prompt": task.texts[0], "example_id": "0"}] * 64),
            processing_class=llama.tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        if settings.beta_from is not None and settings.form != "sequence_kl":
            trainer.add_callback(FallingBeta(settings, trainer))
        trainer.train()
    llama.model.eval()
    points.append(llama.measure(run.steps, reading))
    spent = time.monotonic() - begun
    divergences, gap = beside_predictions(llama, reading, run)
    return FinishedOpenRun(run, tuple(points), divergences, spent, spent / run.steps, peak(), gap)


def noise_forecast(path: str, run: OpenRun) -> NoiseForecast:
    """Forecast the noise of the run's prompt."""
    torch.set_num_threads(1)
    # Second derivatives need attention that is not fused.
    llama, (name,) = PretrainedLlama(path, attention="eager"), run.tasks
    reading = llama.reading([name])

    def log_probs(model: torch.nn.Module) -> Tensor:
        return reading.log_probs(model)[name][0].reshape(-1)

    with torch.no_grad():
        base = log_probs(llama.model)
    words, valid = reading.word_ids(name), reading.valid(name)[0]
    right = torch.zeros_like(base).index_fill(0, words[valid], 1.0)
    places = torch.where(valid, base[words], -torch.inf).topk(2).indices
    first, second = words[places].tolist()

    def odds(log_p: Tensor) -> Tensor:
        return log_p[first] - log_p[second]

    def spread(steps: int, rate: float) -> tuple[Mapping[str, float], Tensor]:
        updates = {name: update_with_baseline(right, constant) for name, constant in BASELINES.items()}
        training = DifferentiableTraining(
            llama.model, log_probs, updates["none"], ANSWERS, "sgd", lambda step: rate
        )
        along = spread_along(training, steps, {"odds": odds}, checkpoint=4, other_updates=updates)
        deviations = {baseline: by_measure["odds"] for baseline, by_measure in along.other_deviations.items()}
        return deviations, along.log_probs

    deviations, ended = spread(run.steps, run.learning_rate)
    slopes = torch.autograd.grad(odds(log_probs(llama.model)), [*llama.model.parameters()])
    # If each logit moves alone, the slope of the log odds has squared norm 2.
    step = run.learning_rate * sum(float(slope.square().sum()) for slope in slopes) / 2
    start, stop = (float((log_p.exp() * right).sum()) for log_p in (base, ended))
    # The rate cancels: a tiny one, so that the adjoint is that of the base.
    of_a_step, _ = spread(1, 1e-9)
    return NoiseForecast(
        pair=(llama.tokenizer.decode(first).strip(), llama.tokenizer.decode(second).strip()),
        places=(int(places[0]), int(places[1])), pass_rate=start, ends=(stop, float(odds(ended))),
        deviations=deviations, tabular=_tabular(right, start, stop, step),
        best_constant=_least(deviations), best_of_a_step=_least(of_a_step),
    )  # fmt: skip


def _tabular(right: Tensor, start: float, stop: float, step: float) -> dict[str, float]:
    """Deviations if answers were unrelated, for the baselines that the formula covers."""
    valid, formulas = int(right.sum()), {"mean of the others": "mean", "none": "none", "one": "one"}
    deviation = partial(drift_deviation, start, stop, valid=valid, invalid=len(right) - valid, step=step)
    with warnings.catch_warnings():
        # The rival's noise is not small where it is far off; it is compared unchanged.
        warnings.simplefilter("ignore", SmallNoiseWarning)
        return {
            name: float(deviation(answers=ANSWERS, baseline=formula)) for name, formula in formulas.items()
        }


def update_with_baseline(right: Tensor, constant: float | None) -> Update:
    """Update of a reward minus a constant, or minus the mean of the others of its group."""

    def draws(log_p: Tensor, step: int) -> Draws:
        p = log_p.exp()[None]
        entries = torch.arange(len(log_p))[None, :, None]
        if constant is not None:
            return Draws(p, entries, (right - constant)[None, :, None])
        centred = (right - (p * right).sum())[None, :, None]
        noise = group_baseline(p, right[None], ANSWERS - 1)
        return Draws(p, entries, centred, torch.ones_like(centred), *noise)

    return draws


def _least(deviations: Mapping[str, float]) -> float:
    """Minimum of the variance, a parabola in the constant, from its values at 0, a half and 1."""
    variance = {
        constant: deviations[name] ** 2 for name, constant in BASELINES.items() if constant is not None
    }
    curvature = 2 * (variance[0.0] - 2 * variance[0.5] + variance[1.0])
    return 0.5 - (variance[1.0] - variance[0.0]) / (2 * curvature)


def train_with_baseline(path: str, run: OpenRun) -> FinishedOpenRun:
    """Train by policy gradient on samples of one prompt, with the run's baseline."""
    llama, (name,) = pretrained_llama(path), run.tasks
    reading = llama.reading(run.tasks)
    generator = torch.Generator().manual_seed(run.seed or 0)
    valid, baseline = prompts_of(reading, llama.base(reading), generator).valid, BASELINES[run.baseline or ""]

    def loss(step: int, log_probs: Mapping[str, LogProbs]) -> Tensor:
        answers = whole_answers(log_probs[name], reading.word_ids(name))
        return baseline_loss(answers, valid, baseline, size=ANSWERS, generator=generator)

    return descend(llama, run, loss, reading, reading, every=run.steps)
