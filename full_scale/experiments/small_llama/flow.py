"""A run as a flow of next-token logits: predicted speed of training, and time of recovery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.support.errors import argument_error
from dph_theory.support.record import as_json

from ..enumerable_tasks.exact import Tables, exact
from ..enumerable_tasks.tasks import EnumerableTask, enumerable_task
from .finished_runs import FinishedRun
from .runs import LlamaRun


def flow(
    run: LlamaRun,
    task: EnumerableTask,
    base: Sequence[np.ndarray],
    start: Sequence[np.ndarray],
    times: Sequence[float],
) -> list[Tables]:
    """Tables of the policy at times increasing from 0: `dph_theory.finite_training.flow` for the run's form.

    Base and start belong to a task of one text. Raises ValueError for another task, or a form without a flow.
    """
    from dph_theory import finite_training

    if len(task.texts) != 1:
        raise argument_error("task", task.name, "a task of one text")
    form = "kl_dpg" if run.form == "alpha_dpg" and run.alpha == 1 else run.form
    if form not in finite_training.FORMS or (form == "rehearsal" and run.rehearsed != "log_u"):
        raise argument_error(
            "form", run.form, f"one of {', '.join(finite_training.FORMS)}; rehearsal of -log u"
        )
    begun, first = ([table[0] for table in tables] for tables in (start, base))
    course = finite_training.flow(
        first, task.valid[0], times, form=form, beta=run.beta, start=begun, end=task.end
    )
    return [[table[None] for table in tables] for tables in course]


EXPERIMENT = "way_back"
LONGEST = 3000.0  # Longest time of the flow.


@dataclass(frozen=True)
class LostFlow:
    """Share of the lost answers along the flow of a form's expected update, from `lost` at the start.

    `collapsed`: starts from a model that lost the answers in training without KL, one per seed. `level`: half
    of the base's share among the valid answers; `half_time`: the time at which it is reached, or None.
    """

    form: str
    lost: float
    collapsed: bool
    level: float
    half_time: float | None
    times: tuple[float, ...]
    shares: tuple[float, ...]


def flow_of(run: LlamaRun) -> LlamaRun | None:
    """The run that represents all runs with its flow; None without a flow."""
    if run.experiment != EXPERIMENT or run.lost is None:
        return None
    shared = {name: getattr(run, name) for name in ("beta", "lost", "collapsed", "alpha", "rehearsed")}
    return LlamaRun("flow", run.task, run.form, seed=run.seed if run.collapsed else 0, **shared)


def ways_back(
    outcomes: Sequence[FinishedRun], flows: Mapping[str, LostFlow]
) -> dict[str, list[dict[str, Any]]]:
    """Runs that start with lost answers: their flows, the lost answers' share along each, its half time.

    Time is steps times learning rate over answer length, the flow's time up to one factor, the network's
    kernel: where theory holds, the ratio of the two half times is the same for every form and loss. A run's
    `flow` is its index among the flows that exist. Entries: `convergence_time`.
    """
    with_flow = [(o, run.id) for o in outcomes if (run := flow_of(o.run)) is not None and run.id in flows]
    names = list(dict.fromkeys(name for _, name in with_flow))
    recoveries, courses = [], []
    for outcome, name in with_flow:
        run, steps = outcome.run, np.array([point.step for point in outcome.course])
        # The digits of the remainder count, not those of a share near one.
        shares = np.array([1 - point.exact.first_share for point in outcome.course])
        half = crossing(
            steps * run.learning_rate / enumerable_task(run.task).length, shares, flows[name].level
        )
        recoveries.append({"digest": run.digest, "flow": names.index(name), "half_time": half})
        courses.append({"digest": run.digest, "step": steps, "lost_share": shares})
    drawn: list[dict[str, Any]] = as_json([flows[name] for name in names], 4)
    for drawn_flow in drawn:
        del drawn_flow["level"]
    return {"ways_back": as_json(recoveries, 5), "flows": drawn, "courses": as_json(courses, 5)}


def crossing(times: np.ndarray, shares: np.ndarray, level: float) -> float | None:
    """First time at which the shares reach a level, linear in their logarithm between points."""
    above = np.flatnonzero(shares >= level)
    if not above.size or above[0] == 0:
        return float(times[0]) if above.size else None
    (t0, t1), (s0, s1) = (values[above[0] - 1 : above[0] + 1] for values in (times, np.log(shares)))
    return float(t0 + (np.log(level) - s0) / (s1 - s0) * (t1 - t0))


def lost_flow(run: LlamaRun, bases: Path) -> LostFlow:
    """Flow of `flow_of(run)` from the run's initial model, which is built if missing."""
    from ..enumerable_tasks.base import build_base
    from .training import start_of, tables_of

    task = enumerable_task(run.task)
    base, start = (tables_of(task, path) for path in (build_base(task, bases), start_of(run, task, bases)))
    times = [0.0, *np.geomspace(1.0, LONGEST, 40).tolist()]
    course = flow(run, task, base, start, times)
    shares = [1 - exact(task, tables, base).first_share for tables in course]
    level = (1 - exact(task, base, base).first_share) / 2
    half = crossing(np.array(times), np.array(shares), level)
    return LostFlow(
        form=run.form,
        lost=run.lost or 0.0,
        collapsed=run.collapsed,
        level=level,
        half_time=half,
        times=tuple(times),
        shares=tuple(shares),
    )
