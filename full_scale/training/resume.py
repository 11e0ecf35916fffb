"""Exact resume: state that TRL's checkpoints lack, conditions of a resume, and export of the model."""

import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.utils.data import Sampler
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints
from trl import GRPOTrainer

from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import write_json
from dph_theory.support.record import versions

from ..storage.tensors import hash_files, hash_values, storing
from ..tasks.protocol import bound_to
from .trained_run import PACKAGES

_LOG = logging.getLogger(__name__)

_LEFT_OUT: Mapping[str, str] = {
    "where things lie, and what is sent where": """output_dir report_to run_name project trackio_space_id
    trackio_bucket_id trackio_static_space_id push_to_hub hub_token hub_private_repo hub_model_id hub_strategy
    hub_always_push hub_revision resume_from_checkpoint vllm_server_base_url vllm_server_host vllm_server_port
    vllm_server_timeout vllm_group_port vllm_gpu_memory_utilization vllm_enable_sleep_mode""",
    "what is said": """logging_strategy logging_steps logging_first_step log_on_each_node
    logging_nan_inf_filter include_num_input_tokens_seen log_level log_level_replica disable_tqdm debug
    skip_memory_metrics log_completions log_multimodal num_completions_to_print log_unique_prompts
    log_completions_hub_repo log_u_tolerance collapse_every step_in_logits""",
    "what is stored": """save_only_model save_strategy save_steps save_on_each_node save_total_limit
    enable_jit_checkpoint load_best_model_at_end metric_for_best_model greater_is_better keep_moments
    restore_callback_states_from_checkpoint""",
    "evaluation, whose random numbers are its own": """eval_strategy eval_steps eval_delay eval_on_start
    per_device_eval_batch_size prediction_loss_only eval_do_concat_batches eval_use_gather_object
    eval_accumulation_steps include_for_metrics batch_eval_metrics bf16_full_eval fp16_full_eval
    num_generations_eval do_train do_eval do_predict""",
    "how rows are brought, not which": """dataloader_num_workers dataloader_pin_memory
    dataloader_persistent_workers dataloader_prefetch_factor dataloader_multiprocessing_context
    remove_unused_columns label_names ignore_data_skip""",
    "the machine; the number of threads is compared by itself": """use_cpu local_rank
    ddp_backend ddp_timeout ddp_bucket_cap_mb ddp_broadcast_buffers ddp_find_unused_parameters
    ddp_static_graph torch_empty_cache_steps ds3_gather_for_generation""",
    "the same values are computed again instead of kept": """gradient_checkpointing activation_checkpointing
    gradient_checkpointing_kwargs activation_checkpointing_kwargs two_backward use_cache""",
    "the length, compared by itself": "max_steps num_train_epochs",
    "how an optimizer step is cut; its rollouts are compared": """per_device_train_batch_size
    gradient_accumulation_steps steps_per_generation""",
}
"""Reasons why fields of DPHConfig may differ between a run and its resumption."""

FREE = frozenset(name for names in _LEFT_OUT.values() for name in names.split())

FILES, PLACE = "files", "place-{}.json"
_ANEW = "remove it, and run dph train --config ... from the one before or the beginning"
COMPLETE = "complete.json"  # Written last: a checkpoint without it was cut off, and is not resumed from.


def last_checkpoint(folder: Path) -> Path | None:
    """Latest complete and undamaged checkpoint of a run's folder, or None if there is none.

    Damaged ones are named, and the one before is taken; RefusedError if none is left.
    """
    complete = [path for path in _checkpoints(folder).values() if (path / COMPLETE).is_file()]
    for path in complete:
        if not (damage := _damage(path)):
            return path
        _LOG.warning("%s is damaged, and is not gone on from: %s", path, damage)
    if complete:
        names = ", ".join(path.name for path in complete)
        anew = "remove it, and run dph train --config ... from the beginning"
        raise RefusedError(f"no whole checkpoint in {folder} ({names} damaged): {anew}")
    return None


def _checkpoints(folder: Path) -> dict[int, Path]:
    names = {path.name.rpartition("-")[2]: path for path in folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*")}
    return {int(step): names[step] for step in sorted(filter(str.isdecimal, names), key=int, reverse=True)}


def _damage(checkpoint: Path) -> str:
    """Words on damaged files of a checkpoint, by the hashes stored with it; empty if none is damaged."""
    try:
        hashes = json.loads((checkpoint / COMPLETE).read_text(encoding="utf-8"))[FILES]
    except (ValueError, LookupError, TypeError, RecursionError):
        return f"{COMPLETE} holds no hashes of files"
    present = _hashes(checkpoint)
    changed = [name for name, digest in hashes.items() if present.get(name) != digest]
    return ", ".join(f"{name} {'has changed' if name in present else 'is gone'}" for name in changed)


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != COMPLETE)
    return {str(path.relative_to(folder)): hash_files([path]) for path in sorted(files)}


def require_finite(trainer: Trainer) -> None:
    """Raise RefusedError, with the step and the settings of its length, for weights that are not finite.

    With sharded weights each process checks its own part.
    """
    for name, weight in trainer.model.named_parameters():
        if weight.requires_grad and not weight.isfinite().all():
            raise _diverged(trainer, trainer.state.global_step, f"{name} holds NaN or inf")


def _diverged(trainer: Trainer, step: int, what: str) -> RefusedError:
    args = trainer.args
    names = ("learning_rate", "max_grad_norm", "beta", "eta", "divergence")
    settings = ", ".join(f"{name}={value}" for name in names if (value := getattr(args, name, None)))
    return RefusedError(
        f"the training diverged at step {step}: {what}, with {settings}; checkpoints in {args.output_dir} "
        "are of earlier, finite steps: try train.learning_rate lower, in another output folder"
    )


def course(arguments: Any) -> dict[str, str]:
    """Settings that must be equal to resume, as text.

    The number of steps is included if the learning rate depends on it; with a constant rate a run may be
    extended.
    """
    settings = {f.name: str(getattr(arguments, f.name)) for f in fields(arguments) if f.name not in FREE}
    # How many processes and micro-steps an optimizer step is cut into moves it by rounding alone.
    cut = arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps
    settings["rollouts a step"] = str(cut * arguments.world_size)
    schedule = str(getattr(arguments.lr_scheduler_type, "value", arguments.lr_scheduler_type))
    if schedule not in ("constant", "constant_with_warmup") or 0 < arguments.warmup_steps < 1:
        settings |= {name: str(getattr(arguments, name)) for name in ("max_steps", "num_train_epochs")}
    return settings


def has_weights(folder: Path) -> bool:
    """True if a folder has safetensors weights of a model or an adapter."""
    return any(folder.glob("*.safetensors"))


class ReplayedSampler(Sampler):
    """A seeded TRL sampler whose n-th epoch is equal in a resumed process and in an unbroken one."""

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
    """Delays a checkpoint until the current generated batch is used up.

    A step after which a weight is not finite ends the training.
    """

    def __init__(self, trainer: "ExactResume") -> None:
        self.trainer, self.due = trainer, False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Save at the end of a generated batch, or of the training."""
        require_finite(self.trainer)
        self.due |= control.should_save
        control.should_save = self.due and (self.trainer.between_batches or control.should_training_stop)
        self.due &= not control.should_save


class ExactResume(GRPOTrainer):
    """A GRPOTrainer with checkpoints between generated batches, which resumes exactly.

    With another number of processes, or from within a batch where a training ended, rollouts are redrawn.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seconds, self._begun = 0.0, time.monotonic()
        self.carried: dict[str, float] = {}  # State of a trainer across steps, stored in checkpoints.
        self.bound: Mapping[str, Any] = {}
        """Further values that must be equal to resume: keys of a recipe, hashes of the initial model."""
        self.add_callback(WholeBatches(self))

    @property
    def seconds(self) -> float:
        """Wall-clock time of the training, including earlier starts up to their resumed checkpoints."""
        return self._seconds + time.monotonic() - self._begun

    def course(self) -> dict[str, Any]:
        """Everything that must be equal to resume: settings, prompts, rewards, versions, and `bound`."""
        values = {
            **course(self.args),
            "train_dataset": hash_values([str(prompt) for prompt in self.train_dataset["prompt"]]),
            "reward_funcs": [bound_to(reward) for reward in self.reward_funcs],
            "versions": versions(*PACKAGES),
            **self.bound,
        }
        return json.loads(json.dumps(values))

    def _get_train_sampler(self, dataset: Any = None) -> Sampler:
        # state.epoch is whole between epochs and has a fraction within: its floor is the epoch begun.
        return ReplayedSampler(super()._get_train_sampler(dataset), lambda: int(self.state.epoch or 0))

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Train as TRL does; raises an error first for a checkpoint of another run."""
        if resume_from_checkpoint is True:
            resume_from_checkpoint = last_checkpoint(Path(self.args.output_dir))
        if resume_from_checkpoint:
            self._check_course(Path(resume_from_checkpoint))
            resume_from_checkpoint = str(resume_from_checkpoint)
        return super().train(resume_from_checkpoint, *args, **kwargs)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Step as TRL does; RefusedError for a loss that is not finite (Trainer omits it) or no samples."""
        step = self.state.global_step + 1
        try:
            loss = super().training_step(*args, **kwargs)
        except RuntimeError as error:
            if "probability tensor" in str(error):
                raise _diverged(self, step, "the probabilities of tokens are no numbers") from error
            raise
        if not loss.isfinite():
            raise _diverged(self, step, f"the loss is {loss.item()}")
        return loss

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
            own = {"threads": torch.get_num_threads(), FILES: _hashes(folder)}
            write_json(folder / COMPLETE, {**self.course(), **own})
            # By steps, whatever a clock says: later ones are of a start that this one did not go on from.
            for step, path in _checkpoints(run).items():
                if step > self.state.global_step:
                    shutil.rmtree(path, ignore_errors=True)
            rotate_checkpoints(str(run), limit, self.state.best_model_checkpoint)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        try:
            super()._load_optimizer_and_scheduler(checkpoint)
        except (UnpicklingError, SafetensorError, EOFError, RuntimeError, ValueError, LookupError) as error:
            raise RefusedError(f"{checkpoint} cannot be read ({error}): {_ANEW}") from error
        if checkpoint is not None:
            self._load_place(Path(checkpoint))

    @property
    def between_batches(self) -> bool:
        """True if the current generated batch is used up."""
        return self._step % self._cycle == 0

    @property
    def _cycle(self) -> int:
        return self.args.steps_per_generation * self.num_iterations

    def _save_place(self, folder: Path) -> None:
        """Save the position of this process, and its counts that are not logged yet."""
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
            raise RefusedError(f"{folder} is no checkpoint of this version, which has {first.name}: {_ANEW}")
        place = json.loads((own if own.is_file() else first).read_text(encoding="utf-8"))
        # However an optimizer step is cut, a generated batch serves as many of them.
        self._step = place["step"] * self._cycle // place["cycle"]
        if not self.between_batches or place["processes"] != self.accelerator.num_processes:
            message = "%s lies at micro-step %d of %d on %d processes: rollouts are drawn anew"
            _LOG.warning(message, folder, place["step"], place["cycle"], place["processes"])
        self._total_train_tokens = place["tokens"]
        self._metrics["train"].update(place["metrics"])
        self._seconds, self._begun = place["seconds"], time.monotonic()
        self.carried = place["carried"]
        for reward, outcomes in zip(self.reward_funcs, place["outcomes"], strict=True):
            if outcomes:
                reward.outcomes.update(outcomes)

    def _check_course(self, folder: Path) -> None:
        if not (folder / COMPLETE).is_file():
            raise RefusedError(f"{folder} is no checkpoint of this trainer, which has {COMPLETE}: {_ANEW}")
        stored = json.loads((folder / COMPLETE).read_text(encoding="utf-8"))
        for name, value in self.course().items():
            if stored.get(name) != value:
                allowed = f"{folder} was trained with {stored.get(name)!r}: resume with it or start anew"
                raise argument_error(name, value, allowed)
        threads = torch.get_num_threads()
        if stored.get("threads") != threads:
            # Sums in another number of parts end in other last bits.
            message = (
                "%s was trained with %s threads, this process has %d: the resumed run differs from the "
                "unbroken one in its last bits; OMP_NUM_THREADS sets their number"
            )
            _LOG.warning(message, folder, stored.get("threads"), threads)


def export(trainer: Trainer, folder: Path, dtype: str | None = None) -> None:
    """Store the model with its tokeniser (with LoRA only the adapter), atomically.

    The dtype is `dtype`, or that of the training; an adapter is unchanged. Every process must call it,
    because sharded weights are gathered. OSError with the free space if writing fails; RefusedError for
    weights that are not finite.
    """
    require_finite(trainer)
    part = folder.with_name(f"{folder.name}.part")
    if trainer.accelerator.is_main_process:
        shutil.rmtree(part, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    # Trainer.save_model writes nothing, and says nothing, under SHARDED_STATE_DICT.
    weights = trainer.accelerator.get_state_dict(trainer.model)
    if trainer.args.should_save:
        with storing(folder.parent):
            adapter = hasattr(trainer.accelerator.unwrap_model(trainer.model), "peft_config")
            if dtype is None or dtype == "float32" or adapter:
                trainer._save(str(part), state_dict=weights)
            else:
                kind = getattr(torch, dtype)
                weights = {n: w.to(kind) if w.is_floating_point() else w for n, w in weights.items()}
                trainer._save(str(part), state_dict=weights)
                config = json.loads((part / "config.json").read_text(encoding="utf-8"))
                write_json(part / "config.json", {**config, "dtype": dtype})
    trainer.accelerator.wait_for_everyone()
    if trainer.accelerator.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
