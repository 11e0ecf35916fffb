"""What a run starts from: the base, or a model that has lost some of the base's answers."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers import LlamaForCausalLM, TrainerCallback

from ..evaluation.exact import exact, next_token_tables
from ..tasks.glass_box.base import build_base, pressed, save
from ..tasks.glass_box.box import GlassBox
from .run import Run
from .trainers import Tables, trainer_of

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
