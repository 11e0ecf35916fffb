"""Luck or time: the noise that a law keeps, why runs miss their law, and a falling beta (G1, G5, G10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.special import logit

from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import FORMS, LawRun, Laws, Records
from ..style import theme

DIVIDED = "sequence_kl, divided"
LOOKS: dict[str, dict[str, Any]] = {
    "k2": {"color": theme.PURPLE, "marker": "v"},
    "k3_corrected": {"color": theme.VERMILLION, "marker": "s"},
    "k3": {"color": theme.BLUE, "marker": "o"},
    "sequence_kl": {"color": theme.GREEN, "marker": "^"},
    DIVIDED: {"color": theme.ORANGE, "marker": "D"},
}
"""The forms at their law."""
CAUSES: dict[str, dict[str, Any]] = {
    "held": {"facecolor": "#DDDDDD"},
    "time": {"facecolor": theme.SKY},
    "luck": {"facecolor": theme.ORANGE, "hatch": "////"},
    "luck beyond first order": {"facecolor": theme.YELLOW, "hatch": "----"},
    "unexplained": {"facecolor": theme.VERMILLION, "hatch": "xxxx"},
    "no twin": {"facecolor": theme.BLACK},
}
SCHEDULES: dict[str, dict[str, Any]] = {
    "constant": {"color": theme.VERMILLION, "marker": "o"},
    "falling": {"color": theme.GREEN, "marker": "s"},
    "falling under a bound": {"color": theme.BLUE, "marker": "^"},
}
LEAST = 1e-4
"""Deviations below it are drawn there."""


@dataclass(frozen=True, kw_only=True)
class FloorPoint:
    """A run at its law: the deviation of the log odds of two equal answers over its second half."""

    form: str
    answers: int
    measured: float
    predicted: float | None


@dataclass(frozen=True, kw_only=True)
class Misses:
    """How many runs of an experiment held, and what the others' misses come from."""

    experiment: str
    counts: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class ScheduleEnd:
    """Runs of one schedule and length: the greatest and last excess KL, and the last pass rate, means."""

    schedule: str
    steps: int
    peak: float
    last: float
    validity: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class LuckOrTimeNumbers:
    """The three panels."""

    floor: tuple[FloorPoint, ...]
    misses: tuple[Misses, ...]
    schedules: tuple[ScheduleEnd, ...]


def compute(config: FigureConfig, records: Records) -> LuckOrTimeNumbers:
    """The noise at the law, the misses of runs that were to reach it, and the schedules of beta."""
    laws = records.laws
    return LuckOrTimeNumbers(floor=_floor(laws), misses=_misses(laws.judged()), schedules=_schedules(laws))


def _floor(laws: Laws) -> tuple[FloorPoint, ...]:
    runs = laws.of("noise_floor")
    courses = laws.courses_of(runs)
    found = []
    for run in runs:
        share = np.array(courses[run.digest].favourite_share)
        found.append(
            FloorPoint(
                form=DIVIDED if run.scale == "group" else run.form,
                answers=run.group_size * run.groups,
                measured=float(logit(share[len(share) // 2 :]).std(ddof=1)),
                predicted=run.twin_favourite_odds_deviation,
            )
        )
    return tuple(found)


def _misses(runs: Sequence[LawRun]) -> tuple[Misses, ...]:
    found = []
    for name in {run.experiment: None for run in runs}:
        of = [run for run in runs if run.experiment == name]
        counts = {"held": sum(run.held for run in of)}
        counts |= {cause: sum(run.why_missed == cause for run in of) for cause in list(CAUSES)[1:]}
        found.append(Misses(experiment=name, counts=counts))
    return tuple(found)


def _schedules(laws: Laws) -> tuple[ScheduleEnd, ...]:
    groups: dict[tuple[str, int], list[LawRun]] = {}
    for run in laws.of("annealing"):
        falling = "falling" if run.lowered_under is None else "falling under a bound"
        groups.setdefault(("constant" if run.annealed_from is None else falling, run.steps), []).append(run)
    found = []
    for (schedule, steps), runs in groups.items():
        along = [np.array(course.excess_kl) for course in laws.courses_of(runs).values()]
        found.append(
            ScheduleEnd(
                schedule=schedule,
                steps=steps,
                peak=float(np.mean([values.max() for values in along])),
                last=float(np.mean([values[-1] for values in along])),
                validity=float(np.mean([run.validity for run in runs])),
                runs=len(runs),
            )
        )
    return tuple(found)


def table(results: LuckOrTimeNumbers) -> Table:
    """Why runs missed, experiment by experiment."""
    rows: list[list[str | float | None]] = [
        [m.experiment, *(m.counts.get(cause, 0) for cause in CAUSES)] for m in results.misses
    ]
    return Table.of(("experiment", *CAUSES), rows)


def draw(config: FigureConfig, results: LuckOrTimeNumbers) -> Drawing:
    """The noise floor; why runs miss; the excess KL of schedules."""
    drawing, (left, middle, right) = theme.new(height=3.4, ncols=3)
    for form, how in LOOKS.items():
        of = sorted((p for p in results.floor if p.form == form), key=lambda point: point.answers)
        words = FORMS.get(form, "the same, divided").replace("KL of the answer in the reward", "KL in reward")
        places = [point.answers for point in of]
        measured = [max(point.measured, LEAST) for point in of]
        left.plot(places, measured, linestyle="none", label=words, **how)
        if all(point.predicted is not None for point in of):
            predicted = [max(point.predicted or 0.0, LEAST) for point in of]
            left.plot(places, predicted, "-", color=how["color"], linewidth=0.8)
    left.set(xscale="log", yscale="log", xlabel="answers a step", ylabel="deviation of a log ratio")
    left.set_title("Luck that stays at the law")
    left.legend(loc="upper center", bbox_to_anchor=(0.4, -0.22))
    _bars(middle, results.misses)
    for schedule, how in SCHEDULES.items():
        of_schedule = sorted((e for e in results.schedules if e.schedule == schedule), key=lambda e: e.steps)
        places = [end.steps for end in of_schedule]
        right.plot(places, [end.peak for end in of_schedule], "--", markerfacecolor="white", **how)
        right.plot(places, [end.last for end in of_schedule], "-", label=schedule, **how)
    right.set(xscale="log", xlabel="steps", ylabel="excess KL in nats", title="A falling beta needs time")
    theme.ticks(right, sorted({end.steps for end in results.schedules}))
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return drawing


def _bars(axes: Axes, misses: Sequence[Misses]) -> None:
    names = [found.experiment.replace("_", " ") for found in misses]
    left = np.zeros(len(misses))
    for cause, how in CAUSES.items():
        width = np.array([found.counts.get(cause, 0) for found in misses], dtype=float)
        total = np.array([sum(found.counts.values()) for found in misses])
        axes.barh(names, width / total, left=left, label=cause, edgecolor=theme.BLACK, linewidth=0.3, **how)
        left = left + width / total
    axes.invert_yaxis()
    axes.set(xlabel="share of runs", title="Why runs miss", xlim=(0, 1))
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.22), ncols=2)


FIGURE = Figure(
    name="luck_or_time",
    title="Where a twin tells, a missed law is luck or too short a training, seldom unexplained",
    caption=(
        "Left: a Llama at its law, at a constant learning rate: how far a log ratio of two equal right "
        "answers shakes, by form and answers a step; lines are predicted, with the error of the baseline of "
        "a group of eight. Middle: runs of the record that were to reach their law; a miss is time where the "
        "noiseless twin misses too, luck where the run lies within three predicted deviations of its twin, "
        "or no further off than the same training on samples. Right: excess KL at its peak (open) and at "
        "the end (filled) for the same last beta, constant or falling."
    ),
    results=LuckOrTimeNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("laws",),
)
