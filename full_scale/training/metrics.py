"""What a training measures, told while it runs: a line a step in a file, and a few words for a bar."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from dph_theory.support.files import write_text
from dph_theory.support.progress import NotedProgress

from ..storage.tensors import storing

_SAID = {"reward": "reward", "loss": "loss", "collapse/excess_kl": "excess KL"}


class Metrics(TrainerCallback):
    """Appends every log to a JSONL file, and tells `progress` each step with what was last measured.

    A resumed training takes away what an earlier start logged after the checkpoint it goes on from, so that
    each step has one line. Only the first process writes and tells.
    """

    def __init__(self, path: Path, progress: NotedProgress) -> None:
        self.path, self.progress, self.last = path, progress, ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Keep the lines up to the step the training goes on from."""
        if state.is_world_process_zero:
            kept = [row for row in read_metrics(self.path) if row["step"] <= state.global_step]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.path, "".join(f"{json.dumps(row)}\n" for row in kept))

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Tell the step, unless its log is about to."""
        if state.is_world_process_zero and not control.should_log:
            self.progress("train", state.global_step, state.max_steps, self.last)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
        """Store a step's log, and tell it."""
        if not state.is_world_process_zero or "loss" not in (logs or {}):
            return
        with storing(self.path.parent), self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": state.global_step, **logs}) + "\n")
        self.last = said(logs)
        self.progress("train", state.global_step, state.max_steps, self.last)


def said(log: Mapping[str, Any]) -> str:
    """Reward, loss and excess KL of a log, where it has them."""
    return ", ".join(f"{words} {log[name]:.4g}" for name, words in _SAID.items() if log.get(name) is not None)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file, in order; none where there is no file, and none that was cut off."""
    if not path.is_file():
        return []
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in whole]
