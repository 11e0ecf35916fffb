"""Trainings that end at a stationary policy, in expectation and under TRL, and what is predicted of them."""

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor
from transformers import PrinterCallback

from dph_theory.stationary import valid_answer_shares

from ...training.online import OnlineTrainer
from ..enumerable_tasks.tasks import EnumerableTask
from ..small_llama.predictions import distances, stationary_policy
from ..small_llama.runs import SEQUENCE, TOKEN_FORWARD, TOKEN_REVERSE, LlamaRun
from ..small_llama.training import FallingBeta, small
from .losses import expected_loss
from .open_prompts import open_prompts
from .reading import LogProbs, Reading
from .runs import ANSWERS, FinishedOpenRun, OpenRun, policy_form
from .stationary import PredictedEnd
from .training import PretrainedLlama, descend, peak, pretrained_llama

POLICIES = {"reward": SEQUENCE, "k3_corrected": TOKEN_REVERSE, "k3": TOKEN_FORWARD}
"""The stationary policy of each form of the KL."""


def policy_tables(kl: str, task: EnumerableTask, beta: float) -> list[np.ndarray]:
    """The stationary policy's tables on each text."""
    return stationary_policy(POLICIES[kl], task, task.base, np.full(len(task.valid), beta))


def predicted_ends(path: str, run: OpenRun) -> dict[str, PredictedEnd]:
    """All three stationary policies at the run's beta, of the base's own tables."""
    llama = pretrained_llama(path)
    reading = llama.reading(run.tasks)
    tasks = {name: reading.enumerable(name, tables) for name, tables in llama.base(reading).items()}
    ends = {kl: PredictedEnd({}, {}) for kl in POLICIES}
    for kl, (name, task) in product(POLICIES, tasks.items()):
        tables = policy_tables(kl, task, run.coefficient)
        right = valid_answer_shares(tables, task.valid, task.end)
        first = right.reshape(len(right), task.vocabulary, -1).sum(axis=2)[:, :-1]
        ends[kl].validity[name] = float(task.pass_rates(tables).mean())
        ends[kl].first_shares[name] = tuple(first.mean(axis=0).tolist())
    return ends


def train_in_expectation(path: str, run: OpenRun) -> FinishedOpenRun:
    """The run without noise, and how far it ends from each stationary policy."""
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
    """How far the model is from each stationary policy, and its mean pass rate from that of the run's form.

    The former are means over the reading's tasks, the latter is of the task that is furthest off.
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
    """The run of one prompt by TRL's own trainer, loss and optimiser; the KL in the reward by ours on it."""
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
