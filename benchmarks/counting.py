"""Seconds, operations and memory of a trainer's steps, the sampling apart; for benchmarks/training.py."""

import gc
import time
import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode
from transformers import TrainerCallback


def now(device: str) -> float:
    """The processor's time, or the wall's once the GPU has done what it was given."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def timed(trainer: Any, device: str) -> list[float]:
    """Fills with the seconds of each sampling."""
    sampled: list[float] = []
    generate = trainer._generate

    def generate_timed(prompts: Any) -> Any:
        start = now(device)
        output = generate(prompts)
        sampled.append(now(device) - start)
        return output

    trainer._generate = generate_timed
    return sampled


class StepTimes(TrainerCallback):
    """When each step began and ended."""

    def __init__(self, device: str) -> None:
        self.begins: list[float] = []
        self.ends: list[float] = []
        self.device = device

    def on_step_begin(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        """A step begins."""
        self.begins.append(now(self.device))

    def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        """A step ends."""
        self.ends.append(now(self.device))


class PeakMemory(TorchDispatchMode):
    """Counts the bytes of all tensors that are alive, and keeps the most there were."""

    def __enter__(self) -> Any:
        self.alive: dict[int, int] = {}
        self.total = self.peak = 0
        for tensor in gc.get_objects():
            if type(tensor) in (torch.Tensor, torch.nn.Parameter):
                self.see(tensor)
        return super().__enter__()

    def see(self, tensor: torch.Tensor) -> None:
        """Count a tensor's storage, once, until it goes."""
        storage = tensor.untyped_storage()
        name = storage._cdata
        if name not in self.alive:
            self.alive[name] = storage.nbytes()
            self.total += storage.nbytes()
            self.peak = max(self.peak, self.total)
            weakref.finalize(storage, self.forget, name)

    def forget(self, name: int) -> None:
        """The storage is gone."""
        self.total -= self.alive.pop(name)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(output):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf)
        return output


class SecondStep(TrainerCallback):
    """Has the modes on during the second step."""

    def __init__(self, *modes: Any) -> None:
        self.modes = modes

    def on_step_begin(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        """On, if it is the second."""
        if state.global_step == 1:
            for mode in self.modes:
                mode.__enter__()

    def on_step_end(self, args: Any, state: Any, control: Any, **unused: Any) -> None:
        """Off, if it was the second."""
        if state.global_step == 2:
            for mode in reversed(self.modes):
                mode.__exit__(None, None, None)


def counted(trainer: Any, device: str) -> dict[str, float]:
    """Operations of the training in the second of two steps, and the most bytes that its tensors held."""
    operations, memory, sampling = FlopCounterMode(display=False), PeakMemory(), []
    generate = trainer._generate

    def generate_counted(prompts: Any) -> Any:
        before = operations.get_total_flops()
        output = generate(prompts)
        sampling.append(operations.get_total_flops() - before)
        return output

    trainer._generate = generate_counted
    trainer.add_callback(SecondStep(operations, memory))
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    trainer.train()
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else memory.peak
    return {"training_flops": float(operations.get_total_flops() - sampling[-1]), "peak_bytes": float(peak)}
