"""One run: what it starts from, the trainer that its penalty asks for, and exact measures along the way."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaForCausalLM, PrinterCallback, TrainerCallback

from dph_theory.stationary import answer_probabilities, filtered_policy

from ...presampling.buffer import RehearsalBuffer, RehearsalRow
from ...training.online import OnlineConfig, OnlineTrainer
from ..enumerable_tasks.base import build_base, pressed, save
from ..enumerable_tasks.box import GlassBox
from ..enumerable_tasks.exact import exact, next_token_tables
from ..record import Settings
from .runs import Run

Tables = list[np.ndarray]
"""A policy's next-token tables, one a position."""
STORED = 1024
"""Correct answers in the rehearsal's buffer; all of a step's rehearsal rows come from them."""
ROWS = 256


def tables_of(box: GlassBox, folder: Path) -> Tables:
    """A stored model's next-token tables on the box's texts."""
    return next_token_tables(LlamaForCausalLM.from_pretrained(folder), box)


def small(tokens: int, output: str, rows: int, **settings: Any) -> OnlineConfig:
    """What a training on short answers gets: `rows` of so many tokens a step, all at once on this machine."""
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
    run: Run, box: GlassBox, model: Any, output: str, kind: Any = OnlineTrainer, **changes: Any
) -> OnlineTrainer:
    """The trainer of the run on the box, for a model whose folder holds the reference."""
    settings = run.arguments | changes
    if run.form == "rehearsal":
        # The exploration is a mean over tokens: with eta so, both weigh as in E v - beta KL.
        settings["eta"] /= box.length
    args = small(box.length, output, len(box.texts) * run.groups * run.group_size, **settings)
    trainer: OnlineTrainer = kind(
        model=model,
        reward_funcs=_reward(run, box),
        args=args,
        train_dataset=_prompts(run, box),
        processing_class=box.tokenizer(),
        peft_config=None if run.rank is None else adapter(run.rank),
        **_extras(run, box, model),
    )
    trainer.remove_callback(PrinterCallback)
    if run.sampling is not None:
        run.sampling.prepare(trainer, run.steps)
    # The reference is the base, whatever model training starts from: that of the stored rows.
    trainer._ready = trainer.rehearsal
    if run.beta_from is not None and run.form != "sequence_kl":
        trainer.add_callback(FallingBeta(run, trainer))
    return trainer


class FallingBeta(TrainerCallback):
    """Sets the beta of TRL's own KL term before each step."""

    def __init__(self, run: Settings, trainer: OnlineTrainer) -> None:
        self.run, self.trainer = run, trainer

    def on_step_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """TRL reads it anew at each batch."""
        self.trainer.beta = self.run.beta_at(state.global_step)


def _prompts(run: Run, box: GlassBox) -> Dataset:
    rows = [
        {"prompt": prompt, "example_id": str(row)}
        for row, prompt in enumerate(box.prompts)
        for _ in range(run.groups)
    ]
    # TRL makes a new data loader an epoch: long epochs make few.
    return Dataset.from_list(rows * 64)


def _extras(run: Run, box: GlassBox, model: Any) -> dict[str, Any]:
    tables = tables_of(box, Path(model.config._name_or_path))
    if run.form == "alpha_dpg" or run.excess_bound is not None:
        rates = box.pass_rates(tables)
        return {"base_rates": {str(row): float(rate) for row, rate in enumerate(rates)}}
    return {"rehearsal": stored_answers(box, tables)} if run.form == "rehearsal" else {}


def stored_answers(box: GlassBox, base: Tables) -> RehearsalBuffer:
    """STORED correct answers of the base, as many of each as the filtered model would expect, to within one.

    An even number of each row; log-probabilities are the base's. The manifest names the box.
    """
    rows = []
    for row, text in enumerate(box.texts):
        law = filtered_policy([table[text] for table in base], box.valid[row], end=box.end)
        places = (np.arange(STORED // len(box.texts)) + 0.5) / (STORED // len(box.texts))
        for answer in _systematic(law, places, box):
            log_ref = [np.log(base[t][(text, *answer[: t + 1])]) for t in range(len(answer))]
            rows.append(RehearsalRow(str(row), box.prompt_ids[text].tolist(), answer, log_ref))
    return RehearsalBuffer.from_rows(rows, {"box": box.name})


def _systematic(law: Tables, places: np.ndarray, box: GlassBox) -> list[list[int]]:
    """The answers at these places of the cumulative law, cut after the end symbol."""
    cumulative = answer_probabilities(law, box.end).ravel().cumsum()
    found = np.searchsorted(cumulative, places * cumulative[-1])
    answers = np.array(np.unravel_index(found, (box.vocabulary,) * box.length)).T.tolist()
    return [a[: a.index(box.end) + 1] if box.end in a else a for a in answers]


def _reward(run: Run, box: GlassBox) -> Callable[..., list[float]]:
    rng = np.random.default_rng([run.seed, 26])
    errors = run.false_positive, run.false_negative

    def verdict(*, completion_ids: list[list[int]], example_id: list[str], **columns: Any) -> list[float]:
        if not run.reward:
            return [0.0] * len(completion_ids)
        found = box.verdicts([int(row) for row in example_id], completion_ids)
        if not any(errors):
            return found
        chances = [1 - errors[1] if right else errors[0] for right in found]
        return (rng.random(len(found)) < chances).astype(float).tolist()

    return verdict


def adapter(rank: int) -> LoraConfig:
    """The LoRA adapter of that rank."""
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


LONGEST_COLLAPSE = 2000
"""Steps without KL in which answers are lost, at most."""


def start_of(run: Run, box: GlassBox, bases: Path) -> Path:
    """The folder of the model that the run starts from, made if need be."""
    base = build_base(box, bases)
    if run.lost is None:
        return base
    return _collapsed(run, box, bases) if run.collapsed else pressed(box, base, run.lost)


def _collapsed(run: Run, box: GlassBox, bases: Path) -> Path:
    """The base trained without a KL term, up to the first step that leaves the lost answers their share."""
    base = build_base(box, bases)
    path = base.with_name(f"{base.name}-collapsed-{run.lost:g}-seed{run.seed}")
    if not (path / "config.json").is_file():
        plain = Run("collapse", run.task, "none", seed=run.seed, steps=LONGEST_COLLAPSE, constant=True)
        model = LlamaForCausalLM.from_pretrained(base, attn_implementation="eager")
        first = next_token_tables(model, box)
        with TemporaryDirectory() as output:
            trainer = trainer_of(plain, box, model, output)
            lost = _Lost(box, first, run.lost or 0.0)
            trainer.add_callback(lost)
            trainer.train()
        if not lost.reached:
            raise ArithmeticError(f"lost={run.lost:g} was not reached in {plain.steps} steps without KL")
        save(trainer.accelerator.unwrap_model(trainer.model), box, path)
    return path


class _Lost(TrainerCallback):
    """Ends the training once the answers that do not begin with the first word have so small a share."""

    def __init__(self, box: GlassBox, base: Tables, share: float) -> None:
        self.box, self.base, self.share, self.reached = box, base, share, False

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        found = exact(self.box, next_token_tables(model, self.box), self.base)
        if 1 - found.first_share <= self.share:
            self.reached = control.should_training_stop = True


@dataclass(frozen=True)
class AfterSteps:
    """The policy's tables of each text after a number of steps."""

    step: int
    tables: Tables


def train(
    run: Run, box: GlassBox, bases: Path, kind: Any = OnlineTrainer, **changes: Any
) -> list[AfterSteps]:
    """The policy at the start, every `run.every` steps, and at the end; the base is built if need be.

    `kind` and `changes` as in `trainer_of`.
    """
    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(build_base(box, bases), attn_implementation="eager")
    # The reference is loaded from the model's own folder, the base, whatever weights training starts from.
    model.load_state_dict(LlamaForCausalLM.from_pretrained(start_of(run, box, bases)).state_dict())
    course = [AfterSteps(0, next_token_tables(model, box))]
    with TemporaryDirectory() as output:
        for turn in range(run.rounds):
            if turn:
                model = _next_round(course[-1], model, box, Path(output) / str(turn))
            trainer = trainer_of(run, box, model, output, kind, **changes)
            trainer.add_callback(_ExactTrainer(box, run, course))
            trainer.train()
            model = trainer.accelerator.unwrap_model(trainer.model)
    return course


def _next_round(last: AfterSteps, model: Any, box: GlassBox, folder: Path) -> Any:
    """The policy as a new start and reference."""
    model.save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager")


class _ExactTrainer(TrainerCallback):
    """Enumerates the policy every so many steps, and after the last."""

    def __init__(self, box: GlassBox, run: Run, course: list[AfterSteps]) -> None:
        self.box, self.run, self.course, self.begun = box, run, course, course[-1].step

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        step = state.global_step
        if step == self.run.steps or (self.run.every and step % self.run.every == 0):
            self.course.append(AfterSteps(self.begun + step, next_token_tables(model, self.box)))
