"""Exact resume: what TRL leaves out of a checkpoint, the refusal to go on under other settings, and the
trained model as a folder, whatever the training was spread over.
"""

import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints
from trl import GRPOTrainer

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json

from ..storage.tensors import hash_values, storing
from .course import course, threads

_LOG = logging.getLogger(__name__)

SIZES, PLACE = "sizes", "place-{}.json"
COMPLETE = "complete.json"
"""Written last: a checkpoint without it was cut off, and is not resumed from."""


def last_checkpoint(folder: Path) -> Path | None:
    """The latest complete checkpoint of a run's folder that is whole, or None if there is none.

    What is damaged is told, and the one before it is taken; ValueError if none is left.
    """
    complete = [path.parent for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*/{COMPLETE}")]
    latest_first = sorted(complete, key=lambda path: int(path.name.split("-")[-1]), reverse=True)
    for path in latest_first:
        wrong = _damage(path)
        if wrong is None:
            return path
        _LOG.warning("%s is damaged, and is not gone on from: %s", path, wrong)
    if latest_first:
        allowed = f"one whole checkpoint at least; remove {folder} to train from the beginning"
        raise argument_error("checkpoints", [path.name for path in latest_first], allowed)
    return None


def _damage(checkpoint: Path) -> str | None:
    """What is wrong with a complete checkpoint's files, by their sizes when it was made."""
    try:
        sizes = json.loads((checkpoint / COMPLETE).read_text(encoding="utf-8")).get(SIZES, {})
    except ValueError:
        return f"{COMPLETE} is no JSON"
    for name, size in sizes.items():
        file = checkpoint / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            return f"{name} has {found} bytes of {size}" if found is not None else f"{name} is gone"
    return None


def _sizes(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != COMPLETE)
    return {str(path.relative_to(folder)): path.stat().st_size for path in sorted(files)}


def has_weights(folder: Path) -> bool:
    """Whether a folder holds a model's, or an adapter's, weights."""
    return any(folder.glob("*.safetensors"))


class ReplayedSampler(Sampler):
    """A seeded TRL sampler whose n-th epoch is the same in a resumed process as in an unbroken one."""

    def __init__(self, sampler: Any, epoch: Callable[[], int]) -> None:
        self.sampler, self.epoch = sampler, epoch

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[int]:
        if self.sampler.shuffle:
            # The sampler draws one permutation an epoch from one generator: draw those of the epochs before.
            self.sampler.generator.manual_seed(self.sampler.seed)
            for _ in range(self.epoch()):
                torch.randperm(self.sampler.num_samples, generator=self.sampler.generator)
        return iter(self.sampler)


class WholeBatches(TrainerCallback):
    """Puts a checkpoint off until the generated batch that is being trained on has served."""

    def __init__(self, trainer: "ExactResume") -> None:
        self.trainer, self.due = trainer, False

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Save at the end of a generated batch, or of the training."""
        self.due |= control.should_save
        control.should_save = self.due and (self.trainer.between_batches or control.should_training_stop)
        self.due &= not control.should_save


class ExactResume(GRPOTrainer):
    """A GRPOTrainer whose checkpoints lie between generated batches, and resume exactly.

    On another number of processes, or from within a batch where a training ended, rollouts are drawn anew.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seconds, self._begun = 0.0, time.monotonic()
        self.carried: dict[str, float] = {}
        """Numbers that a trainer carries from step to step, kept with its checkpoints."""
        self.add_callback(WholeBatches(self))

    @property
    def seconds(self) -> float:
        """Wall-clock time of the training, its earlier starts included up to the checkpoints gone on from."""
        return self._seconds + time.monotonic() - self._begun

    def course(self) -> dict[str, Any]:
        """What must be the same to resume: settings, prompts."""
        prompts = hash_values([str(prompt) for prompt in self.train_dataset["prompt"]])
        return {**course(self.args), "train_dataset": prompts}

    def _get_train_sampler(self, dataset: Any = None) -> Sampler:
        # state.epoch is whole between epochs and has a fraction within: its floor is the epoch begun.
        return ReplayedSampler(super()._get_train_sampler(dataset), lambda: int(self.state.epoch or 0))

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        # Resumed from its last checkpoint, a finished run would take one more step before it looks.
        if self.state.global_step < self.state.max_steps:
            super()._run_epoch(*args, **kwargs)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Older checkpoints go only when this one is complete: a kill in between would leave none.
        run = Path(self._get_output_dir(trial=trial))
        folder = run / f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            run.mkdir(parents=True, exist_ok=True)
            with storing(run):
                super()._save_checkpoint(model, trial)
                self._save_place(folder)
        finally:
            self.args.save_total_limit = limit
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            write_json(folder / COMPLETE, {**self.course(), "threads": threads(), SIZES: _sizes(folder)})
            rotate_checkpoints(str(run), limit, self.state.best_model_checkpoint, use_mtime=True)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self._check_course(Path(checkpoint))
            self._load_place(Path(checkpoint))

    @property
    def between_batches(self) -> bool:
        """Whether the generated batch at hand has served."""
        return self._step % self._cycle == 0

    @property
    def _cycle(self) -> int:
        """Micro-steps for which one generated batch serves."""
        return self.args.steps_per_generation * self.num_iterations

    def _save_place(self, folder: Path) -> None:
        """Where this process is, and what it has counted and not yet logged."""
        place = {
            "step": self._step,
            "cycle": self._cycle,
            "processes": self.accelerator.num_processes,
            "tokens": self._total_train_tokens,
            "metrics": dict(self._metrics["train"]),
            "seconds": self.seconds,
            "carried": self.carried,
            "outcomes": [sorted(getattr(reward, "outcomes", ())) for reward in self.reward_funcs],
        }
        write_json(folder / PLACE.format(self.accelerator.process_index), place)

    def _load_place(self, folder: Path) -> None:
        own, first = (folder / PLACE.format(rank) for rank in (self.accelerator.process_index, 0))
        if not first.is_file():
            raise argument_error(
                "checkpoint", str(folder), f"a checkpoint of this version, with {first.name}"
            )
        place = json.loads((own if own.is_file() else first).read_text(encoding="utf-8"))
        # However an optimizer step is cut, a generated batch serves as many of them.
        self._step = place["step"] * self._cycle // place["cycle"]
        if not self.between_batches or place["processes"] != self.accelerator.num_processes:
            told = "%s lies at micro-step %d of %d on %d processes: rollouts are drawn anew"
            _LOG.warning(told, folder, place["step"], place["cycle"], place["processes"])
        self._total_train_tokens = place["tokens"]
        self._metrics["train"].update(place["metrics"])
        self._seconds, self._begun = place["seconds"], time.monotonic()
        self.carried = place["carried"]
        for reward, seen in zip(self.reward_funcs, place["outcomes"], strict=True):
            if seen:
                reward.outcomes.update(seen)

    def _check_course(self, folder: Path) -> None:
        if not (folder / COMPLETE).is_file():
            raise argument_error("checkpoint", str(folder), f"a checkpoint of this trainer, with {COMPLETE}")
        stored = json.loads((folder / COMPLETE).read_text(encoding="utf-8"))
        for name, value in self.course().items():
            if stored.get(name) != value:
                raise argument_error(
                    name,
                    value,
                    f"{folder} was trained with {stored.get(name)!r}: resume with it or start anew",
                )
        if stored.get("threads") != threads():
            _LOG.warning(
                "%s was trained with %s threads, this process has %d: the resumed run differs from the "
                "unbroken one in its last bits; OMP_NUM_THREADS sets their number",
                folder,
                stored.get("threads"),
                threads(),
            )


def export(trainer: Trainer, folder: Path, dtype: str | None = None) -> None:
    """Store the model with its tokenizer (an adapter alone, with LoRA), whole or not at all.

    In `dtype`, or as it trained; an adapter stays as it trained.

    Every process calls it: sharded weights are gathered. OSError with the space left where writing fails.
    """
    part = folder.with_name(f"{folder.name}.part")
    if trainer.accelerator.is_main_process:
        shutil.rmtree(part, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    with storing(folder.parent):
        adapter = hasattr(trainer.accelerator.unwrap_model(trainer.model), "peft_config")
        if trainer.is_fsdp_enabled or (dtype is not None and not adapter):
            # Trainer.save_model writes nothing, and says nothing, under SHARDED_STATE_DICT.
            weights = trainer.accelerator.get_state_dict(trainer.model)
            _store(trainer, part, weights, None if adapter else dtype)
        else:
            trainer.save_model(str(part))
    trainer.accelerator.wait_for_everyone()
    if trainer.accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)


def _store(trainer: Trainer, folder: Path, weights: Any, dtype: str | None) -> None:
    """By the process that stores: the weights in `dtype`, and the configuration that says so."""
    if not trainer.args.should_save:
        return
    if dtype is not None:
        kind = getattr(torch, dtype)
        weights = {n: w.to(kind) if w.is_floating_point() else w for n, w in weights.items()}
    trainer._save(str(folder), state_dict=weights)
    if dtype is not None:
        path = folder / "config.json"
        write_json(path, {**json.loads(path.read_text(encoding="utf-8")), "dtype": dtype})
