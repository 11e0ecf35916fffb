"""How fast lost answers come back: a real Llama against the flow of its expected update (E7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.support.errors import argument_error
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, Course, Flow, LawRun, Records
from ..style import seeds, theme

EXPERIMENT = "way_back"
SHOWN = ((False, 0.01), (False, 0.0001), (True, 0.001))
"""The panels that are drawn: lost by training or by a fit, and the share at the start."""
LOOKS: dict[str, dict[str, Any]] = {
    "sequence_kl": {"label": "KL of the answer in the reward", "color": theme.VERMILLION, "linestyle": "--"},
    "rehearsal": {"label": r"$-\log u$ on stored correct answers", "color": theme.BLUE, "linestyle": "-"},
    "alpha_dpg": {"label": "KL-DPG, on the policy's own answers", "color": theme.GREEN, "linestyle": "-."},
}
KINDS = {"penalties": ("sequence_kl", "k3_corrected"), "KL-DPG": ("alpha_dpg",), "rehearsal": ("rehearsal",)}
"""The forms: penalties on the policy's own answers; KL-DPG, on the same, whose expected update is that of
rehearsal; rehearsal of stored correct answers."""


@dataclass(frozen=True, kw_only=True)
class WayBackConfig(FigureConfig):
    """The answers' length in tokens, by which a run's time is divided."""

    length: int = 2


@dataclass(frozen=True, kw_only=True)
class WayBackWay:
    """The lost answers' share along a run and along its flow, in strength times time; None: never half."""

    form: str
    seed: int
    times: Array
    shares: Array
    flow_times: Array
    flow_shares: Array
    run_half: float | None = None
    flow_half: float | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The ways back from a share at the start, to which training without KL or a fit has pressed it."""

    lost: float
    collapsed: bool
    ways: tuple[WayBackWay, ...]


@dataclass(frozen=True, kw_only=True)
class WayBackNumbers:
    """A panel a share, and the factor that brings the runs' time to the flow's."""

    factor: float
    panels: tuple[Panel, ...]


def compute(config: WayBackConfig, records: Records) -> WayBackNumbers:
    """The lost answers' share among the valid ones along runs and flows, by their share at the start.

    Time is the penalty's strength times the flow's time; that of the runs, in steps times learning rate, is
    brought to it by one factor for all of them, the median of what their half-way times ask for.
    """
    laws = records.laws
    runs = {run.digest: run for run in laws.of(EXPERIMENT)}
    courses = laws.courses_of(list(runs.values()))
    ways = [(way, laws.flows[way.flow]) for way in laws.ways_back if way.digest in runs]
    if not ways:
        raise argument_error(
            "laws", "no ways back", f"a record of them; dph laws --only {EXPERIMENT} makes it"
        )
    back = [flow.half_time / way.half_time for way, flow in ways if way.half_time and flow.half_time]
    factor = float(np.median(back)) if back else 1.0
    panels: dict[tuple[bool, float], list[WayBackWay]] = {}
    for way, flow in ways:
        made = _way(way.half_time, flow, runs[way.digest], courses[way.digest], factor, config.length)
        panels.setdefault((flow.collapsed, -flow.lost), []).append(made)
    return WayBackNumbers(
        factor=factor,
        panels=tuple(
            Panel(lost=-lost, collapsed=collapsed, ways=tuple(ways))
            for (collapsed, lost), ways in sorted(panels.items())
        ),
    )


def _way(
    half: float | None, flow: Flow, run: LawRun, course: Course, factor: float, length: int
) -> WayBackWay:
    strength = 1.0 if run.form == "alpha_dpg" else run.beta
    pace = strength * factor * run.learning_rate / length
    return WayBackWay(
        form=run.form,
        seed=run.seed,
        times=pace * np.array(course.step),
        shares=np.array(course.lost_share),
        flow_times=strength * np.array(flow.times),
        flow_shares=np.array(flow.shares),
        run_half=None if half is None else strength * factor * half,
        flow_half=None if flow.half_time is None else strength * flow.half_time,
    )


def table(results: WayBackNumbers) -> Table:
    """How much later penalties bring back half the share than rehearsal does, medians; who does in time."""
    rows = []
    for panel in results.panels:
        ways = {kind: [way for way in panel.ways if way.form in forms] for kind, forms in KINDS.items()}
        late, flow = (
            _ratio(*([getattr(way, half) for way in ways[kind]] for kind in ("penalties", "rehearsal")))
            for half in ("run_half", "flow_half")
        )
        back = [f"{sum(way.run_half is not None for way in of)} of {len(of)}" for of in ways.values()]
        rows.append((panel.lost, "training" if panel.collapsed else "a fit", late, flow, *back))
    head = ("share at the start", "lost by", "times later, runs", "times later, flow")
    return Table.of((*head, *(f"{kind} back" for kind in KINDS)), rows)


def _ratio(penalties: Sequence[float | None], rehearsed: Sequence[float | None]) -> float | None:
    late, soon = ([half for half in halves if half] for halves in (penalties, rehearsed))
    return float(np.median(late) / np.median(soon)) if late and soon else None


def draw(config: WayBackConfig, results: WayBackNumbers) -> Drawing:
    """A panel a share: medians of runs with bands over all of them, the flow's prediction thick."""
    panels = [panel for panel in results.panels if (panel.collapsed, panel.lost) in SHOWN] or results.panels[
        :3
    ]
    drawing, axes = theme.new(height=2.8, ncols=len(panels), sharey=True, squeeze=False)
    for ax, panel in zip(axes.flat, panels, strict=True):
        for form, how in LOOKS.items():
            if ways := [way for way in panel.ways if way.form == form]:
                times, shares = _together(ways)
                middle, low, high = np.median(shares, axis=0), shares.min(axis=0), shares.max(axis=0)
                ax.plot(times, middle, **how | {"label": None, "linewidth": 0.7})
                theme.band(ax, times, low, high, how["color"])
                ax.plot(ways[0].flow_times, ways[0].flow_shares, linewidth=1.8, **how)
        ax.set(xlim=(0, max(way.times[-1] for way in panel.ways)), yscale="log")
        by = "training" if panel.collapsed else "a fit"
        ax.set(xlabel=r"strength $\times$ time", title=f"{panel.lost:g} left by {by}")
    axes[0][0].set_ylabel("share of the lost answers")
    seeds.legend(drawing, axes[0][:1], 3)
    return drawing


def _together(ways: Sequence[WayBackWay]) -> tuple[np.ndarray, np.ndarray]:
    """The times of the shortest run, and every run's share at them, (runs, times)."""
    times = min((np.asarray(way.times) for way in ways), key=lambda found: found[-1])
    return times, np.array([np.interp(times, way.times, way.shares) for way in ways])


FIGURE = Figure(
    name="way_back",
    title="Lost answers come back soon by rehearsal, late by a penalty on the policy's own answers",
    caption=(
        "A small Llama in which the second answer's share among the valid ones has fallen from .1 to the "
        "share in each title, by a fit to such a law or by training without KL, is trained by plain gradient "
        "descent towards the same optimum; thin lines are medians of runs with bands over all of them, every "
        "answer enumerated, and thick lines the flow of the expected update in the logits (E7); the table "
        "has every share at the start. A penalty on the "
        "policy's own answers hardly moves an answer that is hardly sampled; KL-DPG has the expected update "
        "of rehearsal but learns only from answers that the policy draws, and rehearsal of stored correct "
        "answers needs no draw. Time is the penalty's strength times the time of the flow; the runs' time, "
        "steps times learning rate, is brought to that by one factor for all runs of the figure."
    ),
    results=WayBackNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=WayBackConfig(),
    needs=("laws",),
)
