"""One run: its initial model, the trainer for its penalty, and exact measures along the way."""

import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaForCausalLM, PrinterCallback, TrainerCallback

from dph_theory.stationary import answer_probabilities, filtered_policy, policy_divergence

from ...presampling.buffer import RehearsalBuffer, RehearsalRow
from ...training.online import OnlineConfig, OnlineTrainer
from ..enumerable_tasks.base import build_base, next_token_tables
from ..enumerable_tasks.exact import Tables, exact
from ..enumerable_tasks.tasks import EnumerableTask, enumerable_task
from .finished_runs import FinishedRun, PredictedPolicy, RunPoint
from .predictions import LIMITS, distances, predictions, stationary_policies, targets_of
from .runs import LlamaRun

STORED = 1024
"""Correct answers in the rehearsal's buffer; all of a step's rehearsal rows come from them."""
ROWS = 256


def tables_of(task: EnumerableTask, folder: Path) -> Tables:
    """Next-token tables of a stored model on the task's texts."""
    return next_token_tables(LlamaForCausalLM.from_pretrained(folder), task)


def small(tokens: int, output: str, rows: int, **settings: Any) -> OnlineConfig:
    """Trainer configuration for short answers: `rows` answers of at most `tokens` tokens per step."""
    return OnlineConfig(
        output_dir=output,
        per_device_train_batch_size=rows,
        max_completion_length=tokens,
        weight_decay=0.0,
        max_grad_norm=0.0,
        shuffle_dataset=False,
        temperature=settings.pop("temperature", 1.0),
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        logging_steps=settings["max_steps"],
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        dataloader_pin_memory=False,
        rehearsal_rows=ROWS,
        log_u_tolerance=math.inf,
        **settings,
    )


def trainer_of(
    run: LlamaRun, task: EnumerableTask, model: Any, output: str, kind: Any = OnlineTrainer
) -> OnlineTrainer:
    """Trainer of the run on an enumerable task; model's folder has the reference, `output` the results."""
    settings = run.arguments
    if run.form == "rehearsal":
        # The exploration is a mean over tokens: with this eta both terms weigh as in E v - beta KL.
        settings["eta"] /= task.length
    args = small(task.length, output, len(task.texts) * run.groups * run.group_size, **settings)
    tables = tables_of(task, Path(model.config._name_or_path))
    extras: dict[str, Any] = {"rehearsal": stored_answers(task, tables)} if run.form == "rehearsal" else {}
    if run.form == "alpha_dpg":
        rates = enumerate(task.pass_rates(tables))
        extras["base_rates"] = {str(row): float(rate) for row, rate in rates}
    trainer: OnlineTrainer = kind(
        model=model,
        reward_funcs=_reward(task),
        args=args,
        train_dataset=_prompts(run, task),
        processing_class=task.tokenizer(),
        peft_config=None if run.rank is None else adapter(run.rank),
        **extras,
    )
    trainer.remove_callback(PrinterCallback)
    if run.sampling is not None:
        run.sampling.prepare(trainer, run.steps)
    # The reference is the base of the stored rows.
    trainer._ready = trainer.rehearsal
    if run.beta_from is not None and run.form != "sequence_kl":
        trainer.add_callback(FallingBeta(run, trainer))
    return trainer


class FallingBeta(TrainerCallback):
    """Sets the beta of TRL's own KL term before each step."""

    def __init__(self, run: LlamaRun, trainer: OnlineTrainer) -> None:
        self.run, self.trainer = run, trainer

    def on_step_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        """Set the trainer's beta to the run's beta at this step; TRL reads it for each batch."""
        self.trainer.beta = self.run.beta_at(state.global_step)


def _prompts(run: LlamaRun, task: EnumerableTask) -> Dataset:
    rows = [
        {"prompt": prompt, "example_id": str(row)}
        for row, prompt in enumerate(task.prompts)
        for _ in range(run.groups)
    ]
    # TRL builds a data loader per epoch: long epochs need few.
    return Dataset.from_list(rows * 64)


def stored_answers(task: EnumerableTask, base: Tables) -> RehearsalBuffer:
    """STORED correct answers of the base, with their expected counts under p_* to within one.

    Rows have equal numbers; log-probabilities are the base's. The manifest names the task.
    """
    rows = []
    for row, text in enumerate(task.texts):
        filtered = filtered_policy([table[text] for table in base], task.valid[row], end=task.end)
        places = (np.arange(STORED // len(task.texts)) + 0.5) / (STORED // len(task.texts))
        for answer in _systematic(filtered, places, task):
            log_ref = [np.log(base[t][(text, *answer[: t + 1])]) for t in range(len(answer))]
            rows.append(RehearsalRow(str(row), task.prompt_ids[text].tolist(), answer, log_ref))
    return RehearsalBuffer.from_rows(rows, {"task": task.name})


def _systematic(policy: Tables, places: np.ndarray, task: EnumerableTask) -> list[list[int]]:
    """Answers (token ids, cut after the end symbol) at these quantiles of the policy's distribution."""
    cumulative = answer_probabilities(policy, task.end).ravel().cumsum()
    indices = np.searchsorted(cumulative, places * cumulative[-1])
    answers = np.array(np.unravel_index(indices, (task.vocabulary,) * task.length)).T.tolist()
    return [a[: a.index(task.end) + 1] if task.end in a else a for a in answers]


def _reward(task: EnumerableTask) -> Callable[..., list[float]]:
    def rewards(*, completion_ids: list[list[int]], example_id: list[str], **columns: Any) -> list[float]:
        return task.verdicts([int(row) for row in example_id], completion_ids)

    return rewards


def adapter(rank: int) -> LoraConfig:
    """LoRA adapter of that rank."""
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def train(
    run: LlamaRun, task: EnumerableTask, bases: Path, kind: Any = OnlineTrainer
) -> list[tuple[int, Tables]]:
    """Tables of the policy by step: at the start, every `run.every` steps, and at the end.

    The base is built if missing; `kind` is the trainer's class.
    """
    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(build_base(task, bases), attn_implementation="eager")
    course = [(0, next_token_tables(model, task))]
    with TemporaryDirectory() as output:
        trainer = trainer_of(run, task, model, output, kind)
        trainer.add_callback(_MeasuredCourse(task, run, course))
        trainer.train()
    return course


class _MeasuredCourse(TrainerCallback):
    """Enumerates the policy every so many steps, and after the last."""

    def __init__(self, task: EnumerableTask, run: LlamaRun, course: list[tuple[int, Tables]]) -> None:
        self.task, self.run, self.course = task, run, course

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **objects: Any) -> None:
        step = state.global_step
        if step == self.run.steps or (self.run.every and step % self.run.every == 0):
            self.course.append((step, next_token_tables(model, self.task)))


def predicted(run: LlamaRun, bases: Path) -> tuple[PredictedPolicy, ...]:
    """Predictions of theory for the run, from the base that is fitted for it."""
    task = enumerable_task(run.task)
    return predictions(run, task, tables_of(task, build_base(task, bases)))


def conduct(run: LlamaRun, predicted: tuple[PredictedPolicy, ...], bases: Path) -> FinishedRun:
    """Train, measure exactly, and compare with the predictions; runs in its own process or here."""
    task = enumerable_task(run.task)
    base = tables_of(task, build_base(task, bases))
    policies = stationary_policies(run, task, base)
    course = train(run, task, bases)
    points = [
        RunPoint(step, exact(task, tables, base), distances(task, tables, policies))
        for step, tables in course
    ]
    rows, last = task.of_rows(base), task.of_rows(course[-1][1])
    ends = {name: limit(rows, task.valid, end=task.end) for name, limit in LIMITS.items()}
    ends |= targets_of(run, task, base)
    limits = {name: float(policy_divergence(end, last, end=task.end).mean()) for name, end in ends.items()}
    return FinishedRun(run, predicted, tuple(points), limits)
