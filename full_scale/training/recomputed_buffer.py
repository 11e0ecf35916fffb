"""The rehearsal's reference log-probabilities, recomputed by the trainer that will compare with them.

Stored ones come from generation, in another precision or batch shape: in bfloat16 that alone moves log u by
up to 0.1. The trainer's own differ from what it computes at the first step by next to nothing.
"""

import dataclasses
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..presampling.buffer import RehearsalBuffer
from ..storage.tensors import read_tensors, write_tensors
from .reference import last_log_probs

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
    model = trainer.model
    training = model.training
    model.eval()
    # As many forward passes on every process: where none is left, the first chunk again, to no effect.
    rounds = -(-len(chunks) // world)
    mine = [chunks[i] if i < len(chunks) else chunks[0] for i in range(rank, rounds * world, world)]
    with torch.no_grad():
        found = [(i, values) for chunk in mine for i, values in _chunk(trainer, buffer, chunk)]
    model.train(training)
    by_row = dict(gather_object(found))
    return torch.cat([by_row[i] for i in range(len(buffer))])


def _chunk(trainer: Any, buffer: RehearsalBuffer, rows: list[int]) -> list[tuple[int, Tensor]]:
    batch = buffer.batch(rows, trainer._tokenizer.pad_token_id)
    batch = {name: tensor.to(trainer.accelerator.device) for name, tensor in batch.items()}
    last = batch["ref_logps"].shape[1]
    values = last_log_probs(trainer, trainer.model, batch["ids"], batch["attention_mask"], last).float().cpu()
    return [(i, row[-buffer.lengths[i] :].clone()) for i, row in zip(rows, values, strict=True)]
