"""DPH on TRL: GRPO's exploration by TRL itself, plus eta times the rehearsal of stored correct samples;
and the methods that need the reference at hand.
"""

import dataclasses
import logging
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from torch import Tensor

from dph_theory.losses import (
    alpha_dpg_rewards,
    clipped_ratio_count,
    dph_loss,
    excess_kl_estimate,
    group_advantages,
)
from dph_theory.losses.generator import generator
from dph_theory.support.errors import argument_error

from ..models.versions import check_versions
from ..presampling.buffer import RehearsalBuffer, rehearsal_rows, share
from ..recipe.law import declared, rehearsal_loss
from ..storage.tensors import read_tensors, write_tensors
from .config import ONLINE
from .judging import record_rewards, require_verdict_alone
from .reference import OnlineReference, evaluating, last_log_probs, sequence_log_probs
from .resume import ExactResume

FILE = "reference.safetensors"


def recomputed(trainer: Any, buffer: RehearsalBuffer) -> RehearsalBuffer:
    """The buffer with the trainer's own reference log-probabilities, computed before its first step.

    They are kept in its output folder for a resumed run, whose model is the initial one no more; ValueError
    if a resumed run does not find them. How far they are from the stored ones goes into the metrics.
    """
    path = Path(trainer.args.output_dir) / FILE
    if trainer.state.global_step > 0:
        return dataclasses.replace(buffer, ref_logps=_kept(path, buffer))
    own = _own_log_probs(trainer, buffer)
    gap = (own - buffer.ref_logps).abs().max().item()
    trainer._metrics["train"]["rehearsal/stored_gap_max_abs"].append(gap)
    if trainer.accelerator.is_main_process:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(path, {"ref_logps": own}, {"digest": buffer.digest})
    return dataclasses.replace(buffer, ref_logps=own)


def _kept(path: Path, buffer: RehearsalBuffer) -> Tensor:
    tensors, metadata = read_tensors(path)
    if metadata["digest"] != buffer.digest:
        raise argument_error("rehearsal", metadata["digest"], f"the buffer that {path} was computed from")
    return tensors["ref_logps"]


def _own_log_probs(trainer: Any, buffer: RehearsalBuffer) -> Tensor:
    """Reference log-probabilities, flat; each process takes every world-th chunk, then all have all."""
    size = trainer.args.per_device_train_batch_size
    world, rank = trainer.accelerator.num_processes, trainer.accelerator.process_index
    # Rows of like length together: little padding.
    order = buffer.by_length(range(len(buffer)))
    chunks = [order[start : start + size] for start in range(0, len(order), size)]
    # As many forward passes on every process: where none is left, the first chunk again, to no effect.
    rounds = -(-len(chunks) // world)
    mine = [chunks[i] if i < len(chunks) else chunks[0] for i in range(rank, rounds * world, world)]
    with evaluating(trainer.model):
        found = [(i, values) for chunk in mine for i, values in _chunk(trainer, buffer, chunk)]
    by_row = dict(gather_object(found))
    return torch.cat([by_row[i] for i in range(len(buffer))])


def _chunk(trainer: Any, buffer: RehearsalBuffer, rows: list[int]) -> list[tuple[int, Tensor]]:
    batch = buffer.batch(rows, trainer._tokenizer.pad_token_id)
    batch = {name: tensor.to(trainer.accelerator.device) for name, tensor in batch.items()}
    last = batch["ref_logps"].shape[1]
    values = last_log_probs(trainer, trainer.model, batch["ids"], batch["attention_mask"], last).float().cpu()
    return [(i, row[-buffer.lengths[i] :].clone()) for i, row in zip(rows, values, strict=True)]


_LOG = logging.getLogger(__name__)


def _trains_in_float32(model: Any) -> None:
    """ValueError for a weight that trains in 16 bits, where a step of 1e-6 of its size is rounded away."""
    for name, weight in model.named_parameters():
        if weight.requires_grad and weight.dtype != torch.float32:
            allowed = "float32 for a weight that trains; bf16=True computes in 16 bits all the same"
            raise argument_error(f"dtype of {name}", weight.dtype, allowed)


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
        if not (self.is_fsdp_enabled or self.is_deepspeed_enabled):
            # Those keep float32 weights beside the ones that they compute with.
            _trains_in_float32(self.model)
        self.rehearsal = rehearsal
        self.notes: tuple[str, ...] = ()
        self.arguments: Mapping[str, Any] = {}
        self._ready: RehearsalBuffer | None = None
        self._micro = (-1, 0)
        self._warned = False
        self._verdicts = None
        if self.args.baseline != "mean":
            require_verdict_alone(self, f"baseline={self.args.baseline!r}")
            self._verdicts = record_rewards(self, "prompt")
        if self.args.eta == 0:
            return
        if rehearsal is None or not len(rehearsal):
            raise argument_error(
                "rehearsal", rehearsal, f"eta={self.args.eta} needs a buffer with at least one row"
            )
        if self.args.two_backward and self.accelerator.distributed_type == DistributedType.DEEPSPEED:
            raise argument_error("two_backward", True, "not with DeepSpeed, whose backward also steps")

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, fields: Any, *args: Any, **named: Any
    ) -> Any:
        """TRL's generation by transformers, of at most `generation_rows` rows at once."""
        rows, generate = self.args.generation_rows, super()._generate_single_turn
        if self.use_vllm or rows is None or images or fields or len(prompt_ids) <= rows:
            return generate(prompt_ids, images, fields, *args, **named)
        starts = range(0, len(prompt_ids), rows)
        parts = [generate(prompt_ids[at : at + rows], images, fields, *args, **named) for at in starts]
        return [row for ids, _ in parts for row in ids], None

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples = super()._generate_and_score_completions(inputs)
        if self._verdicts is None or not self.model.training:
            return samples
        rewards = torch.tensor(self._verdicts.last[1]).to(samples["advantages"])
        return {**samples, "advantages": self._less_baseline(rewards, self.args.baseline)}

    def _less_baseline(self, rewards: Tensor, baseline: str, divided: bool = False) -> Tensor:
        """The rewards of this process less the baseline, of their group or a constant, (batch,)."""
        everyone = self.accelerator.gather(rewards.contiguous()).unflatten(0, (-1, self.num_generations))
        found = group_advantages(everyone, normalise=divided, baseline=baseline).flatten()
        start = self.accelerator.process_index * len(rewards)
        return found[start : start + len(rewards)]

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
        part = (
            rehearsal_loss(vars(self.args), log_pi, batch["ref_logps"], mask) * weight
            if real
            else (0 * log_pi).sum()
        )
        self._note(part.detach() * parts, torch.where(mask, log_u.detach(), 0).abs(), mask)
        return part

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


class OnlineTrainer(DPHTrainer):
    """A DPHTrainer whose advantages come from the log-ratios of its samples to the reference.

    args.online says which: "alpha_dpg", `alpha_dpg_rewards` of whole completions (theory B7); "sequence_kl",
    v - beta log(pi/ref) of whole completions, whose gradient is that of E v - beta KL(pi || ref) (theory A4,
    B6); both less the mean of the group's others, which leaves the expected gradient as it is (with baseline
    "one" or "none" the verdicts less that constant, the penalty less its mean). "definition":
    TRL's advantage less eta f'(u) at each token, the gradient of eta D_f(pi || ref) between the tokens'
    distributions at the prefixes visited (theory B8). "future_kl": less beta times the log-ratios of the
    later tokens, so that with TRL's corrected k3 of the token itself the gradient is that of the KL of the
    whole answer (arXiv 2601.10201). "scaled_kl": the trap of theory G2, "sequence_kl" over the deviation. `base_rates` maps example ids to base pass rates in
    (0, 1], which alpha-DPG and `excess_bound` need. Gradients are exact where one step is taken on each
    sampled batch.
    """

    def __init__(self, *args: Any, base_rates: Mapping[str, float] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.args.online == "none":
            raise argument_error("online", "none", f"one of {ONLINE[1:]}; DPHTrainer does without")
        if self.args.mask_truncated_completions:
            raise argument_error("mask_truncated_completions", True, "off: whole completions are compared")
        if self.args.online not in ("definition", "future_kl"):
            require_verdict_alone(self, f"online={self.args.online!r}")
        self.base_rates = base_rates or {}
        self.reference = OnlineReference(self)
        self.recorded = record_rewards(self, "example_id")

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        samples = super()._generate_and_score_completions(inputs)
        if not self.model.training:
            return samples
        samples = self.reference.with_log_probs(samples)
        advantages = {
            "alpha_dpg": self._alpha_dpg,
            "sequence_kl": self._sequence_kl,
            "scaled_kl": self._sequence_kl,
            "definition": self._definition,
            "future_kl": self._future_kl,
        }[self.args.online]
        return {**samples, "advantages": advantages(samples).to(samples["advantages"].dtype)}

    def _alpha_dpg(self, samples: dict[str, Any]) -> Tensor:
        keys, rewards = self.recorded.last
        log_pi, log_ref = sequence_log_probs(samples)
        log_rates = torch.tensor([self._base_rate(key) for key in keys]).to(log_pi).log()
        valid = torch.tensor(rewards, device=log_pi.device) == 1
        # One sample a row: each has its prompt's rate beside it.
        arguments = (log_pi[:, None], log_ref[:, None], valid[:, None], log_rates)
        clip = self.args.ratio_clip
        if clip is not None:
            clipped = clipped_ratio_count(*arguments, ratio_clip=clip).to(log_pi)
            everywhere = self.accelerator.reduce(clipped, reduction="sum").item()
            self._metrics["train"]["alpha_dpg/clipped"].append(everywhere)
        return self._centred(alpha_dpg_rewards(*arguments, self.args.alpha, ratio_clip=clip)[:, 0])

    def _sequence_kl(self, samples: dict[str, Any]) -> Tensor:
        log_pi, log_ref = sequence_log_probs(samples)
        rewards = torch.tensor(self.recorded.last[1]).to(log_pi)
        penalty = self._coefficient(rewards, log_pi, log_ref) * (log_pi - log_ref)
        if self.args.baseline in ("one", "none"):
            return self._less_baseline(rewards, self.args.baseline) - self._centred(penalty)
        return self._centred(rewards - penalty)

    def _coefficient(self, rewards: Tensor, log_pi: Tensor, log_ref: Tensor) -> float:
        """beta of this batch: the last one's if the excess KL is above its bound, else a step lower."""
        last, first, bound = self.args.online_coefficient, self.args.online_from, self.args.excess_bound
        if first is None:
            return last
        fallen = self.carried.get("fallen", 0.0)
        beta = last * (first / last) ** max(1 - 2 * fallen / self.state.max_steps, 0.0)
        if bound is None or self._excess(rewards, log_pi, log_ref) < bound:
            # In optimiser steps: of a batch there may be several.
            passes = self.args.steps_per_generation * self.num_iterations
            self.carried["fallen"] = fallen + passes / self.args.gradient_accumulation_steps
        self._metrics["train"]["online/beta"].append(beta)
        return beta

    def _excess(self, rewards: Tensor, log_pi: Tensor, log_ref: Tensor) -> float:
        """The mean excess KL of the last ten batches or so, whose own estimates are noisy (theory A8)."""
        rates = torch.tensor([self.base_rates.get(key, 0.0) for key in self.recorded.last[0]]).to(log_pi)
        columns = torch.stack([rewards, log_pi, log_ref, rates], dim=1).contiguous()
        groups = self.accelerator.gather(columns).unflatten(0, (-1, self.num_generations))
        # A prompt whose rate is not known to lie between 0 and 1 has no such measure.
        groups = groups[(groups[:, 0, 3] > 0) & (groups[:, 0, 3] < 1)]
        if not len(groups):
            return self.carried.get("excess", 0.0)
        rewards, log_pi, log_ref, rates = groups.unbind(dim=2)
        found = excess_kl_estimate(rewards, log_pi, log_ref, rates[:, 0]).mean.item()
        self.carried["excess"] = 0.9 * self.carried.get("excess", 0.0) + 0.1 * found
        return self.carried["excess"]

    def _definition(self, samples: dict[str, Any]) -> Tensor:
        mask = samples["completion_mask"].bool()
        log_u = samples["old_per_token_logps"].double() - samples["ref_per_token_logps"].double()
        log_u = torch.where(mask, log_u, 0)
        # d/dpi of E_ref f(pi/ref) is E_pi[f'(u) grad log pi], and f'(u) = e^-x d/dx f(e^x). In the normalised
        # gauge f'(1) = 0, so that there is no push where pi is ref.
        slope = generator(declared(vars(self.args)), "normalised")(log_u)[1] * torch.exp(-log_u)
        return samples["advantages"][:, None] - self.args.online_coefficient * torch.where(mask, slope, 0)

    def _future_kl(self, samples: dict[str, Any]) -> Tensor:
        log_u = samples["old_per_token_logps"] - samples["ref_per_token_logps"]
        log_u = log_u * samples["completion_mask"]
        later = log_u.flip(1).cumsum(1).flip(1) - log_u
        return samples["advantages"][:, None] - self.beta * later

    def _centred(self, rewards: Tensor) -> Tensor:
        """The rewards of this process less the mean of the others of their group, (batch,).

        For "scaled_kl", less the group's mean, over its deviation (theory G2).
        """
        divided = self.args.online == "scaled_kl"
        return self._less_baseline(rewards, "mean" if divided else "leave_one_out", divided)

    def _base_rate(self, key: str) -> float:
        rate = self.base_rates.get(key)
        if rate is None or not 0 < rate <= 1:
            raise argument_error(
                f"base_rates[{key!r}]", rate, "a base pass rate in (0, 1] for every training prompt"
            )
        return rate
