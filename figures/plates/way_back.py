"""How fast lost answers come back: a real Llama against the flow of its expected update (E7)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.support.errors import argument_error

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record
from ..results.laws import runs

EXPERIMENT = "way_back"
LOOKS: dict[str, dict[str, Any]] = {
    "sequence_kl": {"label": "KL of the answer in the reward", "color": theme.VERMILLION, "linestyle": "--"},
    "k3_corrected": {"label": "corrected k3 in the loss", "color": theme.ORANGE, "linestyle": ":"},
    "rehearsal": {"label": r"$-\log u$ on stored correct answers", "color": theme.BLUE, "linestyle": "-"},
    "alpha_dpg": {"label": "KL-DPG on stored correct answers", "color": theme.GREEN, "linestyle": "-."},
}
REHEARSED = ("rehearsal", "alpha_dpg")


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The lost answers' share among the valid ones along runs and flows, by their share at the start.

    Time is the penalty's strength times the flow's time; that of the runs, in steps times learning rate, is
    brought to it by one factor for all of them, the median of what their half-way times ask for.
    """
    record = records["laws"]
    rows = {run["digest"]: run for run in runs(record, EXPERIMENT)}
    ways = [way for way in record["results"].get("ways_back", []) if way["digest"] in rows]
    if not ways:
        raise argument_error(
            "laws", "no ways back", f"a record of them; dph laws --only {EXPERIMENT} makes it"
        )
    courses = {course["digest"]: course for course in record["results"]["courses"]}
    back = [way for way in ways if way["run_time"] and way["flow_time"]]
    factor = float(np.median([way["flow_time"] / way["run_time"] for way in back])) if back else 1.0
    panels: dict[float, list[dict[str, Any]]] = {}
    for way in ways:
        run, course = rows[way["digest"]], courses[way["digest"]]
        strength = 1.0 if way["form"] == "alpha_dpg" else run["beta"]
        pace = strength * factor * way["learning_rate"] / config["length"]
        entry = {
            "form": way["form"],
            "seed": way["seed"],
            "times": [pace * step for step in course["step"]],
            "shares": [1 - share for share in course["first_share"]],
            "flow_times": [strength * time for time in way["times"]],
            "flow_shares": way["shares"],
            "run_half": None if way["run_time"] is None else strength * factor * way["run_time"],
            "flow_half": None if way["flow_time"] is None else strength * way["flow_time"],
        }
        panels.setdefault(way["lost"], []).append(entry)
    return {
        "factor": factor,
        "panels": [{"lost": lost, "ways": panels[lost]} for lost in sorted(panels, reverse=True)],
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """How much later the answers come back on policy than rehearsed: runs, and the flow."""
    return [
        f"Lost answers of share {panel['lost']:g} come back to half the base's share "
        f"{_later(panel['ways'], 'run_half')} on policy than rehearsed; "
        f"by the flow, {_later(panel['ways'], 'flow_half')}."
        for panel in results["panels"]
    ]


def _later(ways: Sequence[Mapping[str, Any]], what: str) -> str:
    """How many times later, by medians over the runs that came back."""
    rehearsed = [way[what] for way in ways if way["form"] in REHEARSED and way[what]]
    others = [way for way in ways if way["form"] not in REHEARSED]
    policy = [way[what] for way in others if way[what]]
    if not rehearsed or not policy:
        return "not in time"
    missed = len(others) - len(policy)
    more = f" ({missed} of {len(others)} runs not in time)" if missed else ""
    return f"{np.median(policy) / np.median(rehearsed):.2g} times later{more}"


def draw(record: Mapping[str, Any]) -> Drawing:
    """A panel for each share at the start: runs as thin lines, the flow's prediction as thick ones."""
    panels = record["results"]["panels"]
    drawing, axes = theme.new(height=2.8, ncols=len(panels), sharey=True, squeeze=False)
    for ax, panel in zip(axes[0], panels, strict=True):
        for form, how in LOOKS.items():
            ways = [way for way in panel["ways"] if way["form"] == form]
            for way in ways:
                ax.plot(way["times"], way["shares"], color=how["color"], linewidth=0.5, alpha=0.6)
            if ways:
                ax.plot(ways[0]["flow_times"], ways[0]["flow_shares"], linewidth=1.8, **how)
        longest = max(way["times"][-1] for way in panel["ways"])
        ax.set(
            xlim=(0, longest),
            yscale="log",
            xlabel=r"strength $\times$ time",
            title=f"{panel['lost']:g} at the start",
        )
    axes[0][0].set_ylabel("share of the lost answers")
    handles, labels = axes[0][0].get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=2)
    return drawing


FIGURE = Figure(
    name="way_back",
    title="The way back",
    caption=(
        "The two-token base of the laws, with the second answer's share among the valid ones pressed from "
        ".1 to the share in each title; then trained by plain gradient descent towards the same optimum. "
        "Thin: runs of a small Llama, every answer enumerated. Thick: the flow of the expected update in "
        "the logits. A penalty on the policy's own answers hardly moves an answer that is hardly sampled; "
        "rehearsal of stored correct answers does (E7). Time is the penalty's strength times the time of "
        "the flow; the runs' time, steps times learning rate, is brought to that by one factor for all "
        "runs of the figure."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={"length": 2},
    needs=("laws",),
)
