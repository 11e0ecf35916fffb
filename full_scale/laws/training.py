"""One run, measured exactly along the way."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import LlamaForCausalLM, TrainerCallback

from ..evaluation.exact import next_token_tables
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import GlassBox
from .run import Run
from .start import start_of
from .trainers import Tables, trainer_of


@dataclass(frozen=True)
class Measured:
    """The policy's tables of each text after a number of steps."""

    step: int
    tables: Tables


def train(run: Run, box: GlassBox, bases: Path) -> list[Measured]:
    """The policy at the start, every `run.every` steps, and at the end; the base is built if need be."""
    torch.set_num_threads(1)
    model = LlamaForCausalLM.from_pretrained(build_base(box, bases), attn_implementation="eager")
    # The reference is loaded from the model's own folder, the base, whatever weights training starts from.
    model.load_state_dict(LlamaForCausalLM.from_pretrained(start_of(run, box, bases)).state_dict())
    course = [Measured(0, next_token_tables(model, box))]
    with TemporaryDirectory() as output:
        for turn in range(run.rounds):
            if turn:
                model = _next_round(course[-1], model, box, Path(output) / str(turn))
            trainer = trainer_of(run, box, model, output)
            trainer.add_callback(_Exact(box, run, course))
            if run.annealed_from is not None:
                trainer.add_callback(_Annealed(run, trainer.args))
            trainer.train()
            model = trainer.accelerator.unwrap_model(trainer.model)
    return course


def _next_round(last: Measured, model: Any, box: GlassBox, folder: Path) -> Any:
    """The policy as a new start and reference."""
    model.save_pretrained(folder)
    return LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager")


class _Exact(TrainerCallback):
    """Enumerates the policy every so many steps, and after the last."""

    def __init__(self, box: GlassBox, run: Run, course: list[Measured]) -> None:
        self.box, self.run, self.course, self.begun = box, run, course, course[-1].step

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        step = state.global_step
        if step == self.run.steps or (self.run.every and step % self.run.every == 0):
            self.course.append(Measured(self.begun + step, next_token_tables(model, self.box)))


class _Annealed(TrainerCallback):
    """Lowers the coefficient of the KL in the reward from `annealed_from` to `beta`, then keeps it there."""

    def __init__(self, run: Run, settings: Any) -> None:
        self.run, self.settings = run, settings

    def on_step_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        self.settings.online_coefficient = annealed(self.run, state.global_step)


def annealed(run: Run, step: int) -> float:
    """The coefficient at a step: beta (annealed_from / beta)^(1 - 2 step / steps), and beta after half."""
    left = max(1 - 2 * step / run.steps, 0.0)
    return run.beta * ((run.annealed_from or run.beta) / run.beta) ** left
