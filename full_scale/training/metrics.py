"""What a training measures, told while it runs: a line a step in a file, a few words for a bar, curves."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from dph_theory.support.errors import argument_error
from dph_theory.support.files import replacing, write_text
from dph_theory.support.progress import NotedProgress

from ..storage.tensors import storing

_SAID = {
    "reward": "reward",
    "loss": "loss",
    "collapse/excess_kl": "excess KL",
    "collapse/by_luck": "by luck alone",
}
EQUAL_REWARDS = "frac_reward_zero_std"
"""TRL's share of groups whose rewards are all equal."""


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
    """Reward, loss, excess KL and the share of groups of equal rewards of a log, where it has them."""
    words = [f"{words} {log[name]:.4g}" for name, words in _SAID.items() if log.get(name) is not None]
    if log.get(EQUAL_REWARDS) is not None:
        words.append(f"groups of equal rewards {log[EQUAL_REWARDS]:.0%}")
    return ", ".join(words)


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file, in order; none where there is no file, and none that was cut off."""
    if not path.is_file():
        return []
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in whole]


CURVES = (
    "reward",
    "loss",
    "collapse/excess_kl",
    "collapse/by_luck",
    "collapse/validity",
    "collapse/kl",
    "rehearsal/loss",
    "evaluation/greedy",
    "completions/mean_length",
    "grad_norm",
)
"""What is shown unless names are given, where it was logged."""
_LEVELS = "▁▂▃▄▅▆▇█"


def curves(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()
) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of each quantity measured; ValueError for a name that was not logged."""
    found = {}
    for name in names or CURVES:
        points = [(row["step"], row[name]) for row in rows if isinstance(row.get(name), int | float)]
        if points:
            found[name] = points
        elif names:
            raise argument_error("curve", name, f"one of {sorted({key for row in rows for key in row})}")
    return found


def sparkline(values: Sequence[float], width: int) -> str:
    """The values as blocks, from their least to their largest; those that share one as their mean."""
    count = min(width, len(values))
    cuts = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    scale = (len(_LEVELS) - 1) / (high - low) if high > low else 0.0
    return "".join(_LEVELS[round((mean - low) * scale)] for mean in means)


def table_rows(found: Mapping[str, Sequence[tuple[int, float]]], width: int) -> list[list[str]]:
    """A row for each curve: name, first, last, least, largest value, and the curve `width` blocks wide."""
    rows = []
    for name, points in found.items():
        values = [value for _, value in points]
        numbers = (values[0], values[-1], min(values), max(values))
        rows.append([name, *(f"{number:.4g}" for number in numbers), sparkline(values, width)])
    return rows


HEADERS = ("", "first", "last", "least", "largest", "curve")


def draw(found: Mapping[str, Sequence[tuple[int, float]]], path: Path) -> None:
    """The curves, one below the other over the steps, as a PNG, SVG or PDF by the path's ending."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    allowed = (".png", ".svg", ".pdf")
    if path.suffix not in allowed:
        raise argument_error("out", str(path), f"a file that ends in one of {', '.join(allowed)}")
    with mpl.rc_context({"font.size": 8}):
        figure = Figure(figsize=(6, 1.4 * len(found)), layout="constrained")
        for axes, (name, points) in zip(
            figure.subplots(len(found), sharex=True, squeeze=False)[:, 0], found.items(), strict=True
        ):
            axes.plot([step for step, _ in points], [value for _, value in points], linewidth=1)
            axes.set_ylabel(name.replace("/", "\n"))
        axes.set_xlabel("step")
        with replacing(path) as part:
            figure.savefig(part, format=path.suffix[1:])
