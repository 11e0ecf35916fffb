"""DPH on TRL, on one page: GRPO's own exploration, plus eta times the rehearsal of stored correct answers.

    loss = GRPO's loss on D_exp + eta * mean f(u),   u = pi/ref on the stored tokens of D_pef

DPHTrainer(model=..., args=DPHConfig(..., eta=0.05), rehearsal=buffer, ...).train(); source: li2025choice.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from torch import Tensor
from trl import GRPOConfig, GRPOTrainer

from dph_theory.losses import dph_loss
from dph_theory.support.errors import RefusedError, argument_error, choice

from ..models.generation import evaluating
from ..models.versions import check_versions
from ..presampling.buffer import RehearsalBuffer, rehearsal_rows, share
from ..recipe.rehearsal import RELEASED, rehearsal_loss, rehearses
from ..recipe.validation import check_settings
from ..storage.tensors import read_tensors, write_tensors
from .metrics import note_rehearsal
from .reference import last_log_probs

FILE = "reference.safetensors"


@dataclass
class DPHConfig(GRPOConfig):
    """GRPOConfig with the rehearsal; divergence, gauge, level and reduction are those of `generator_loss`.

    Raises ValueError as `check_settings`.
    """

    eta: float = 0.0
    divergence: str = "forward_kl"  # Of DIVERGENCES, module:OBJECT, or "alpha".
    alpha: float | None = None
    gauge: str | float = "printed"
    rehearsal_level: str = "token"
    rehearsal_reduction: str = "token_mean"
    rehearsal_form: str = "generator"  # Or one of RELEASED: the loss as the authors' code computes it.
    forms = ("generator", *RELEASED)
    rehearsal_rows: int | None = None  # Of each optimizer step; half as many as its rollouts unless given.
    two_backward: bool = False  # The rehearsal's backward pass first, by itself: less memory at the peak.
    log_u_tolerance: float = 0.02  # Above this, |log u| before the first step is warned of: u should be 1.

    def __post_init__(self) -> None:
        super().__post_init__()
        check_settings(vars(self))
        choice("rehearsal_form", self.rehearsal_form, self.forms)


class DPHTrainer(GRPOTrainer):
    """GRPOTrainer with rehearsal; at eta = 0 it is GRPOTrainer, bit for bit.

    The rows of a step depend only on (seed, step), and its gradient neither on gradient accumulation nor on
    the number of processes. Before the first step the stored reference log-probabilities are replaced by this
    trainer's own, in its precision, so that u = 1 there.
    """

    def __init__(self, *args: Any, rehearsal: RehearsalBuffer | None = None, **kwargs: Any) -> None:
        check_versions()
        super().__init__(*args, **kwargs)
        self.rehearsal, self._micro = rehearsal, (-1, 0)  # Optimizer step, micro-step within.
        self._ready: RehearsalBuffer | None = None
        if rehearses(vars(self.args)) and not rehearsal:
            allowed = f"eta={self.args.eta} needs a buffer with at least one row"
            raise argument_error("rehearsal", rehearsal, allowed)
        if self.args.two_backward and self.accelerator.distributed_type == DistributedType.DEEPSPEED:
            raise argument_error("two_backward", True, "not with DeepSpeed, whose backward also steps")

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """TRL's exploration loss, plus eta times this process's part of the rehearsal loss."""
        if self.rehearsal is None or not (rehearses(vars(self.args)) and model.training):
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self._ready is None:
            self._ready = self.rehearsal.with_reference(self._reference(self.rehearsal))
        rehearsed = self._rehearse(model, self._ready)
        explored = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        return dph_loss(explored, rehearsed.to(explored.dtype), self.args.eta)

    def _rehearse(self, model: Any, buffer: RehearsalBuffer) -> Tensor:
        """The micro-step's part of the rehearsal loss; after its own backward pass, a constant."""
        step = self.state.global_step
        self._micro = (step, self._micro[1] + 1 if self._micro[0] == step else 0)
        parts = []
        # The last micro-step of the exploration synchronises the gradients of both.
        with self.accelerator.no_sync(model) if self.args.two_backward else nullcontext():
            for part in self._parts(model, buffer):
                if self.args.two_backward:
                    self.accelerator.backward(self.args.eta * part)
                parts.append(part.detach() if self.args.two_backward else part)
        return torch.stack(parts).sum()

    def _parts(self, model: Any, buffer: RehearsalBuffer) -> Iterator[Tensor]:
        """Yield scalar rehearsal losses: summed over micro-steps, averaged over processes, the step's."""
        args, world, rank = self.args, self.accelerator.num_processes, self.accelerator.process_index
        (step, micro), micros = self._micro, self.current_gradient_accumulation_steps
        rollouts = args.per_device_train_batch_size * world * args.gradient_accumulation_steps
        drawn = rehearsal_rows(args.seed, step, len(buffer), args.rehearsal_rows or max(1, rollouts // 2))
        # Rows of like length go together; the gradient is that of all, whatever their order.
        rows = buffer.by_length(drawn)
        mine = share(rows, rank, world, micro, micros)
        # As many forward passes, as wide, on every process, whatever its share: unequal ones would hang.
        longest = -(-len(rows) // (world * micros))
        width = args.per_device_train_batch_size if args.two_backward else longest
        starts = range(0, longest, width)
        for start in starts:
            chosen = mine[start : start + width]
            filled = [*chosen, *rows[:1] * (min(width, longest - start) - len(chosen))]
            # Weighed by its share of the step's tokens or rows, the parts' means add up to the step's mean.
            weight = {
                "token_mean": buffer.lengths[list(chosen)].sum().item() / buffer.lengths[rows].sum().item(),
                "sequence_mean": len(chosen) / len(rows),
                "sum": 1.0,
            }[args.rehearsal_reduction]
            log_pi, log_ref, mask = self._log_probs(model, buffer, filled)
            mask[len(chosen) :] = False
            # Without rows, 0 with a gradient: sharded processes would wait for the pass for ever.
            loss = rehearsal_loss(vars(args), log_pi, log_ref, mask) * weight if chosen else 0 * log_pi.sum()
            log_u = torch.where(mask, (log_pi - log_ref).detach(), 0).abs()
            note_rehearsal(self, loss.detach() * micros * len(starts), log_u, mask)
            yield world * loss  # Data-parallel training averages over the processes.

    def _log_probs(self, model: Any, buffer: RehearsalBuffer, rows: list[int]) -> tuple[Tensor, ...]:
        """log pi, log ref and mask of the rows' answer tokens, each (rows, tokens), right-aligned."""
        batch = buffer.batch(rows, self._tokenizer.pad_token_id)
        batch = {name: tensor.to(self.accelerator.device) for name, tensor in batch.items()}
        last = batch["ref_logps"].shape[1]
        log_pi = last_log_probs(self, model, batch["ids"], batch["attention_mask"], last)
        return log_pi, batch["ref_logps"], batch["completion_mask"].bool()

    def _reference(self, buffer: RehearsalBuffer) -> Tensor:
        """Log-probabilities of all rows under the initial model, flat; stored for a resumed run."""
        # Each process computes every world-th batch. RefusedError if a resumed run does not find them.
        path, size = Path(self.args.output_dir) / FILE, self.args.per_device_train_batch_size
        if self.state.global_step:
            tensors, metadata = read_tensors(path)
            if metadata["digest"] != buffer.digest:
                raise RefusedError(f"{path} is of another buffer than this run's: take another output folder")
            return tensors["ref_logps"]
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        order, by_index = buffer.by_length(range(len(buffer))), []
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        with evaluating(self.model):
            # As many passes on every process: where none is left, the first batch again, to no effect.
            for i in range(rank, -(-len(batches) // world) * world, world):
                rows = batches[i] if i < len(batches) else batches[0]
                values = self._log_probs(self.model, buffer, rows)[0].float().cpu()
                by_index += [(n, v[-buffer.lengths[n] :].clone()) for n, v in zip(rows, values, strict=True)]
        by_row = dict(gather_object(by_index))
        own = torch.cat([by_row[n] for n in range(len(buffer))])
        gap = (own - buffer.ref_logps).abs().max().item()
        self._metrics["train"]["rehearsal/stored_gap_max_abs"].append(gap)
        if self.accelerator.is_main_process:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_tensors(path, {"ref_logps": own}, {"digest": buffer.digest})
        return own
