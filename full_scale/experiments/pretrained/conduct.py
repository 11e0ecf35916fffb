"""Runs of the pretrained Llama, in expectation or on samples, and the policies predicted for them."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from dph_theory.stationary import valid_answer_shares

from ..enumerable_tasks.tasks import EnumerableTask
from ..small_llama.predictions import distances, stationary_policy
from ..small_llama.runs import SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE
from .losses import expected_loss
from .reading import LogProbs, Reading
from .runs import FinishedOpenRun, OpenRun, policy_form
from .stationary import PredictedEnd
from .training import PretrainedLlama, descend, pretrained_llama, train_on_samples

# Stationary policy of each form of the KL.
POLICIES = {"reward": SEQUENCE, "k3_corrected": TOKEN_REVERSE, "k3": TOKEN_FORWARD}


def conduct(path: str, run: OpenRun, pinned: tuple[int, ...] = ()) -> FinishedOpenRun:
    """Train and measure a run from the model at `path`: expected gradients without a seed, else samples."""
    if run.seed is None:
        return train_in_expectation(path, run)
    return train_on_samples(path, run, pinned)


def policy_tables(kl: str, task: EnumerableTask, beta: float) -> list[np.ndarray]:
    """Next-token tables (texts, V, ..., V) of the stationary policy of that KL form at `beta`."""
    return stationary_policy(POLICIES[kl], task, task.base, np.full(len(task.valid), beta))


def predicted_ends(path: str, run: OpenRun) -> dict[str, PredictedEnd]:
    """Predicted end, by KL form, of the stationary policies at the run's beta, from the model's own base."""
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
    """Train by expected gradients and measure the KL to each stationary policy, in nats."""
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
    """KL of the model to each stationary policy, by form, and the gap of its pass rate to its own form's.

    KLs are means over the reading's tasks; the gap is that of the task with the largest difference.
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
