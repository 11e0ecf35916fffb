"""A run as a flow of next-token logits: how fast theory says it goes, and how long the way back takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from transformers import LlamaForCausalLM

from dph_theory import dynamics
from dph_theory.dynamics import FORMS
from dph_theory.support.errors import argument_error
from dph_theory.support.record import as_json

from ..evaluation.exact import exact, next_token_tables
from ..tasks.glass_box.base import build_base
from ..tasks.glass_box.box import GlassBox, box
from .record import FinishedRun
from .runs import Run
from .training import Tables, start_of


def flow(
    run: Run, box: GlassBox, base: Sequence[np.ndarray], start: Sequence[np.ndarray], times: Sequence[float]
) -> list[Tables]:
    """The policy's tables at increasing times from 0: `dph_theory.dynamics.flow` of the run's form.

    Base and start: of a box of one text. ValueError for another box, or a form that no flow describes.
    """
    if len(box.texts) != 1:
        raise argument_error("box", box.name, "a box of one text")
    form = "kl_dpg" if run.form == "alpha_dpg" and run.alpha == 1 else run.form
    if form not in FORMS or (form == "rehearsal" and run.rehearsed != "log_u"):
        raise argument_error("form", run.form, f"one of {', '.join(FORMS)}; rehearsal of -log u")
    begun, first = ([table[0] for table in tables] for tables in (start, base))
    course = dynamics.flow(
        first, box.valid[0], times, form=form, beta=run.beta, start=begun, end=box.end, reward=run.reward
    )
    return [[table[None] for table in tables] for tables in course]


EXPERIMENT = "way_back"
LONGEST = 3000.0
"""Of the flow's time."""


@dataclass(frozen=True)
class LostFlow:
    """The lost answers' share along the flow of a form's expected update, from `lost` at the start.

    `collapsed`: from a model that lost them in training without KL, one a seed. `half_time`: when they have
    half the share of the valid answers that they have in the base; None: never.
    """

    form: str
    lost: float
    collapsed: bool
    half_time: float | None
    times: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class WayBack:
    """A run that starts with answers lost: the place of its flow among the flows, and its own half time.

    That is in steps times learning rate over answer length, which is the flow's time up to one factor, the
    network's kernel: where theory E7 holds, the ratio of the two half times is the same for every form and
    loss.
    """

    digest: str
    flow: int
    half_time: float | None


def ways_back(outcomes: Sequence[FinishedRun], bases: Path) -> dict[str, list[dict[str, Any]]]:
    """The `ways_back` of the runs of that experiment, and their `flows`, as plain values."""
    flows: dict[tuple[Any, ...], LostFlow] = {}
    found = []
    for outcome in outcomes:
        run = outcome.run
        if run.experiment != EXPERIMENT or run.lost is None:
            continue
        key = (run.task, run.form, run.lost, run.beta, run.seed if run.collapsed else None)
        half = _half_of_base(run.task, bases)
        if key not in flows:
            flows[key] = _flow(run, bases)
        steps = np.array([point.step for point in outcome.course])
        measured = np.array([1 - point.exact.first_share for point in outcome.course])
        time = crossing(steps * run.learning_rate / box(run.task).length, measured, half)
        found.append(WayBack(run.digest, [*flows].index(key), time))
    return {"ways_back": as_json(found, 5), "flows": as_json([*flows.values()], 4)}


def crossing(times: np.ndarray, shares: np.ndarray, level: float) -> float | None:
    """The first time at which the shares reach a level, linear in their logarithm between points."""
    above = np.flatnonzero(shares >= level)
    if not above.size:
        return None
    if above[0] == 0:
        return float(times[0])
    (t0, t1), (s0, s1) = (values[above[0] - 1 : above[0] + 1] for values in (times, np.log(shares)))
    return float(t0 + (np.log(level) - s0) / (s1 - s0) * (t1 - t0))


@cache
def _half_of_base(name: str, bases: Path) -> float:
    """Half of the lost answers' share of the valid ones in the task's base."""
    task = box(name)
    base = _tables(task, build_base(task, bases))
    return (1 - exact(task, base, base).first_share) / 2


def _flow(run: Run, bases: Path) -> LostFlow:
    task = box(run.task)
    base, start = (_tables(task, path) for path in (build_base(task, bases), start_of(run, task, bases)))
    times = [0.0, *np.geomspace(1.0, LONGEST, 40).tolist()]
    course = flow(run, task, base, start, times)
    shares = [1 - exact(task, tables, base).first_share for tables in course]
    half = crossing(np.array(times), np.array(shares), _half_of_base(run.task, bases))
    return LostFlow(run.form, run.lost or 0.0, run.collapsed, half, tuple(times), tuple(shares))


def _tables(task: GlassBox, folder: Path) -> list[np.ndarray]:
    """A stored model's next-token tables on the task."""
    return next_token_tables(LlamaForCausalLM.from_pretrained(folder), task)
