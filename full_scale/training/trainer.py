"""DPH on TRL: GRPO's exploration by TRL itself, plus eta times the rehearsal of stored correct samples."""

import logging
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import torch
from accelerate.utils import DistributedType
from torch import Tensor

from dph_theory.losses import dph_loss, generator_loss
from dph_theory.support.errors import argument_error

from ..models.versions import check_versions
from ..presampling.buffer import RehearsalBuffer, rehearsal_rows, share
from .config import RELEASED
from .recomputed_buffer import recomputed
from .reference import last_log_probs
from .resume import ExactResume

_LOG = logging.getLogger(__name__)


class DPHTrainer(ExactResume):
    """GRPOTrainer with rehearsal; at eta = 0 it is GRPOTrainer, bit for bit.

    Takes GRPOTrainer's arguments, a DPHConfig, and the rehearsal buffer, which eta > 0 needs. The rows of a
    step depend on (seed, step) alone, and its gradient neither on gradient accumulation nor on the number
    of processes. Before the first step the stored reference log-probabilities are replaced by this
    trainer's own, in its precision. Source: li2025choice.
    """

    def __init__(self, *args: Any, rehearsal: RehearsalBuffer | None = None, **kwargs: Any) -> None:
        check_versions()
        super().__init__(*args, **kwargs)
        self.rehearsal = rehearsal
        self._ready: RehearsalBuffer | None = None
        self._micro = (-1, 0)
        self._warned = False
        if self.args.eta == 0:
            return
        if rehearsal is None or not len(rehearsal):
            raise argument_error(
                "rehearsal", rehearsal, f"eta={self.args.eta} needs a buffer with at least one row"
            )
        if self.args.two_backward and self.accelerator.distributed_type == DistributedType.DEEPSPEED:
            raise argument_error("two_backward", True, "not with DeepSpeed, whose backward also steps")

    def course(self) -> dict[str, Any]:
        """What must be the same to resume: settings, prompts, the rehearsal buffer."""
        digest = None if self.rehearsal is None or self.args.eta == 0 else self.rehearsal.digest
        return {**super().course(), "rehearsal": digest}

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """The exploration's loss by TRL, plus eta times this process's part of the rehearsal's."""
        if self.rehearsal is None or self.args.eta == 0 or not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self._ready is None:
            self._ready = recomputed(self, self.rehearsal)
        rehearsed = self._rehearse(model, self._ready)
        explored = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        return dph_loss(explored, rehearsed.to(explored.dtype), self.args.eta)

    def _rehearse(self, model: Any, buffer: RehearsalBuffer) -> Tensor:
        """The micro-step's part of the rehearsal loss; after its backward pass, a constant."""
        step = self.state.global_step
        self._micro = (step, self._micro[1] + 1 if self._micro[0] == step else 0)
        parts = []
        # The last micro-step of the exploration synchronises the gradients of both.
        with self.accelerator.no_sync(model) if self.args.two_backward else nullcontext():
            for part in self._parts(model, buffer):
                if self.args.two_backward:
                    self.accelerator.backward(self.args.eta * part)
                    part = part.detach()
                parts.append(part)
        return torch.stack(parts).sum()

    def _parts(self, model: Any, buffer: RehearsalBuffer) -> Iterator[Tensor]:
        """The loss in parts; summed over micro-steps and averaged over processes they make the step's."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        (step, micro), micros = self._micro, self.current_gradient_accumulation_steps
        drawn = rehearsal_rows(self.args.seed, step, len(buffer), self.args.rehearsal_rows)
        # Rows of like length go together; the gradient is that of all, whatever their order.
        rows = buffer.by_length(drawn)
        mine = share(rows, rank, world, micro, micros)
        # As many forward passes, as wide, on every process, whatever its share: unequal ones would hang.
        longest = -(-len(rows) // (world * micros))
        width = self.args.per_device_train_batch_size if self.args.two_backward else longest
        starts = range(0, longest, width)
        for start in starts:
            chosen = mine[start : start + width]
            filled = [*chosen, *rows[:1] * (min(width, longest - start) - len(chosen))]
            batch = buffer.batch(filled, self._tokenizer.pad_token_id)
            # Only the part's own mean is at hand: weighed by its share of the step's tokens or rows, it adds
            # up to the step's mean. A mean of the parts' means would favour the tokens of short parts.
            weight = {
                "token_mean": buffer.lengths[list(chosen)].sum().item() / buffer.lengths[rows].sum().item(),
                "sequence_mean": len(chosen) / len(rows),
                "sum": 1.0,
            }[self.args.rehearsal_reduction]
            # Data-parallel training averages over the processes.
            yield world * self._part(model, batch, len(chosen), weight, micros * len(starts))

    def _part(self, model: Any, batch: dict[str, Tensor], real: int, weight: float, parts: int) -> Tensor:
        """The weighed loss of a batch whose first `real` rows count; one of the step's `parts` here."""
        batch = {name: tensor.to(self.accelerator.device) for name, tensor in batch.items()}
        mask = batch["completion_mask"].bool()
        mask[real:] = False
        last = mask.shape[1]
        log_pi = last_log_probs(self, model, batch["ids"], batch["attention_mask"], last)
        log_u = log_pi - batch["ref_logps"]
        part = self._rehearsal_loss(log_pi, batch["ref_logps"], mask) * weight if real else (0 * log_pi).sum()
        self._note(part.detach() * parts, torch.where(mask, log_u.detach(), 0).abs(), mask)
        return part

    def _rehearsal_loss(self, log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        if self.args.rehearsal_form != "generator":
            return RELEASED[self.args.rehearsal_form](log_pi, log_ref, mask)
        arguments = {"level": self.args.rehearsal_level, "reduction": self.args.rehearsal_reduction}
        return generator_loss(
            self.args.declared(), log_pi - log_ref, mask, gauge=self.args.gauge, **arguments
        )

    def _note(self, loss: Tensor, log_u: Tensor, mask: Tensor) -> None:
        """Metrics of the rehearsal, over all processes; at the first step u must be 1."""
        sums = torch.stack([loss.float(), log_u.sum().float(), mask.sum().float()])
        value, total, count = self.accelerator.reduce(sums, reduction="sum").tolist()
        largest = self.accelerator.gather(log_u.max().float()).max().item()
        metrics = self._metrics["train"]
        metrics["rehearsal/loss"].append(value)
        metrics["rehearsal/log_u_mean_abs"].append(total / count if count else 0.0)
        metrics["rehearsal/log_u_max_abs"].append(largest)
        if self.state.global_step == 0 and largest > self.args.log_u_tolerance and not self._warned:
            # Once, not at every micro-step and on every process.
            self._warned = True
            _LOG.warning(
                "before the first step |log u| is %.3g on a rehearsal token, where u should be 1 "
                "(log_u_tolerance=%g): the precision, or dropout, or the batch's shape moves the "
                "log-probabilities by that much, and the rehearsal with them",
                largest,
                self.args.log_u_tolerance,
            )
