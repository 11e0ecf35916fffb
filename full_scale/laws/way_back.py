"""How long a lost answer takes to come back: runs against the flow of theory E7, in the flow's own time."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import LlamaForCausalLM

from ..evaluation.exact import exact, next_token_tables
from ..tasks.glass_box.base import build_base, pressed
from ..tasks.glass_box.boxes import box
from .flow import flow
from .outcome import Outcome
from .run import Run

EXPERIMENT = "way_back"
LONGEST = 3000.0
"""Of the flow's time."""


@dataclass(frozen=True)
class WayBack:
    """When the lost answers have half the share of the valid ones that they have in the base; None: never.

    `run_time` is in steps times learning rate over answer length, which is the flow's time up to one factor,
    the network's kernel: where theory E7 holds, run_time / flow_time is the same for every form and loss.
    """

    digest: str
    form: str
    lost: float
    learning_rate: float
    seed: int
    run_time: float | None
    flow_time: float | None
    times: tuple[float, ...]
    shares: tuple[float, ...]
    """Of the lost answers along the flow."""


def ways_back(outcomes: Sequence[Outcome], bases: Path) -> list[dict[str, Any]]:
    """A `WayBack`, as plain values, for each run of that experiment."""
    flows: dict[tuple[str, float, float], tuple[np.ndarray, np.ndarray, float]] = {}
    found = []
    for outcome in outcomes:
        run = outcome.run
        if run.experiment != EXPERIMENT or run.lost is None:
            continue
        key = (run.form, run.lost, run.beta)
        if key not in flows:
            flows[key] = _flow(run, bases)
        times, shares, half = flows[key]
        steps = np.array([point.step for point in outcome.course])
        measured = np.array([1 - point.exact.first_share for point in outcome.course])
        found.append(
            WayBack(
                run.digest,
                run.form,
                run.lost,
                run.learning_rate,
                run.seed,
                crossing(steps * run.learning_rate / box(run.task).length, measured, half),
                crossing(times, shares, half),
                tuple(float(f"{time:.4g}") for time in times),
                tuple(float(f"{share:.4g}") for share in shares),
            )
        )
    return [asdict(entry) for entry in found]


def crossing(times: np.ndarray, shares: np.ndarray, level: float) -> float | None:
    """The first time at which the shares reach a level, linear in their logarithm between points."""
    above = np.flatnonzero(shares >= level)
    if not above.size:
        return None
    if above[0] == 0:
        return float(times[0])
    (t0, t1), (s0, s1) = (values[above[0] - 1 : above[0] + 1] for values in (times, np.log(shares)))
    return float(t0 + (np.log(level) - s0) / (s1 - s0) * (t1 - t0))


def _flow(run: Run, bases: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Times and shares of the lost answers along the run's flow, and half their share in the base."""
    task = box(run.task)
    folder = build_base(task, bases)
    base, start = (
        next_token_tables(LlamaForCausalLM.from_pretrained(path), task)
        for path in (folder, pressed(task, folder, run.lost or 0.0))
    )
    times = [0.0, *np.geomspace(1.0, LONGEST, 40).tolist()]
    course = flow(run, task, base, start, times)
    shares = [1 - exact(task, tables, base).first_share for tables in course]
    return np.array(times), np.array(shares), (1 - exact(task, base, base).first_share) / 2
