"""Where does each form of the KL end, without noise, and under TRL's own trainer on samples?

Predicted from the base alone, before the run: the stationary policy of each form, of the base's own tables.
Left out: more than one prompt a kind; how fast a run gets there; answers of more than two tokens; betas below
0.2. The runs in expectation share one model, so that several prompts that the theory takes one by one are
trained together.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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

from dph_theory.divergences import FORWARD_KL
from dph_theory.stationary import policy_divergence, sequence_policy, token_policy, valid_answer_shares
from dph_theory.support.table import Table

from ...training.online import OnlineTrainer
from ..enumerable_tasks.tasks import EnumerableTask
from ..small_llama.runs import LlamaRun
from ..small_llama.training import FallingBeta, small
from .losses import expected_loss
from .open_prompts import LogProbs, Reading, open_prompts
from .runs import ANSWERS, FinishedOpenRun, OpenRun, Outcomes, of_experiment, policy_form
from .training import PretrainedLlama, descend, peak, pretrained_llama

FOUR: tuple[str, ...] = ("weekdays", "colours", "fruits", "summer")


def declared() -> list[OpenRun]:
    """Those in expectation, with beta falling and constant."""
    ends, every = ("reward", "k3"), ("reward", "k3_corrected", "k3")
    digits = product((0.2, 0.5), ("primes", "minutes"), every)
    falling = [(FOUR, kl, beta) for kl, beta in product(ends, (1.0, 0.5, 0.2))]
    falling += [((task,), kl, beta) for beta, task, kl in digits]
    # Whether the pass rate overshoots where beta does not fall, and comes back slowly.
    constant = [(FOUR, kl, beta) for kl, beta in product(ends, (0.5, 0.2))]
    constant += [(("primes",), kl, 0.2) for kl in every]
    run: Callable[..., OpenRun] = partial(OpenRun, "stationary", learning_rate=2e-5, steps=90)
    return [
        run(tasks, "policy gradient", kl, beta, coefficient_from)
        for settings, coefficient_from in ((falling, 1.0), (constant, None))
        for tasks, kl, beta in settings
    ]


def runs_under_trl() -> list[OpenRun]:
    """One prompt, on samples."""
    run = partial(OpenRun, "trl", ("weekdays",), "Dr. GRPO", coefficient=0.2, coefficient_from=1.0, seed=0)
    return [run(kl, trainer="trl", steps=60, learning_rate=2e-5) for kl in ("k3", "k3_corrected", "reward")]


POLICIES: Mapping[str, Callable[..., list[np.ndarray]]] = {
    "reward": sequence_policy,
    "k3_corrected": token_policy,
    "k3": partial(token_policy, divergence=FORWARD_KL),
}
"""The stationary policy of each form of the KL."""


def policy_tables(kl: str, task: EnumerableTask, beta: float) -> list[np.ndarray]:
    """The stationary policy's tables on each text."""
    base = task.of_rows(task.base)
    return POLICIES[kl](base, task.valid, np.full(len(task.valid), beta), end=task.end)


@dataclass(frozen=True)
class PredictedEnd:
    """Where a form of the KL is predicted to end, of each of the run's tasks."""

    validity: dict[str, float]
    first_shares: dict[str, tuple[float, ...]]


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
    distances, gap = beside_predictions(llama, reading, run)
    return replace(outcome, distances=distances, gap=gap)


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
    distances, gaps = {}, []
    for kl in POLICIES:
        divergences = []
        for name, end in ends.items():
            tables = policy_tables(kl, bases[name], run.coefficient)
            divergences.append(float(policy_divergence(end.base, tables, end=end.end).mean()))
            if kl == policy_form(run.kl):
                rates, predicted = end.pass_rates(end.base), bases[name].pass_rates(tables)
                gaps.append(abs(float(rates.mean() - predicted.mean())))
        distances[kl] = fmean(divergences)
    return distances, max(gaps)


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
    distances, gap = beside_predictions(llama, reading, run)
    return FinishedOpenRun(run, tuple(points), distances, spent, spent / run.steps, peak(), gap)


def table(outcomes: Outcomes) -> Table:
    """The runs beside their predictions."""
    rows = []
    for outcome in [*of_experiment("stationary", outcomes), *of_experiment("trl", outcomes)]:
        run, beta = outcome.run, f"{outcome.run.coefficient:g}"
        if run.coefficient_from and run.coefficient < run.coefficient_from:
            beta += f", from {run.coefficient_from:g}"
        rival = min(distance for kl, distance in outcome.distances.items() if kl != run.kl)
        rows.append(
            (run.task, run.kl if run.seed is None else f"{run.kl}, TRL, seed {run.seed}", beta,
             round(outcome.gap or 0.0, 4), round(outcome.kl_to_prediction or 0.0, 4), round(rival, 4),
             f"missed; nearest {outcome.nearest}" if outcome.misses else "held")
        )  # fmt: skip
    titles = ("prompts", "KL", "beta", "pass rate off by", "KL to it", "to another", "verdict")
    return Table.from_rows(titles, rows)
