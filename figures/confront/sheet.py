"""A confrontation drawn: Pass@k, its difference with the band, what it is made of, and the laws."""

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dph_theory.counts import Confrontation, Together

from ..style import seeds, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_RUN: Any = {"color": theme.BLUE}
_BASE: Any = {"color": theme.GREY, "linestyle": (0, (1, 1))}

_SHORT = {
    ", advantages not divided": "",
    ", advantages divided (groups": ", divided (G",
    " of ": " = ",
    "a shift = its own for each prompt": "own shift for each",
    "Jensen-Shannon": "JS",
}
"""What is left out of a law's name."""


def sheet(found: Confrontation) -> "Drawing":
    """Three panels on one sheet, and a fourth where laws are told."""
    with theme.look():
        drawing, axes = theme.new(height=5.2, nrows=2, ncols=2)
        _curves(axes[0, 0], found)
        _difference(axes[0, 1], found)
        _parts(axes[1, 0], found)
        if found.laws:
            _laws(axes[1, 1], found)
        else:
            axes[1, 1].set_axis_off()
    return drawing


def _along_k(axes: "Axes", found: Confrontation) -> None:
    ks = [part.k for part in found.parts]
    if ks[-1] > 1:
        axes.set_xscale("log", base=2)
    axes.set_xticks(ks[:: max(1, len(ks) // 6)], [str(k) for k in ks[:: max(1, len(ks) // 6)]])
    axes.minorticks_off()
    axes.set_xlabel(r"$k$")


def _curves(axes: "Axes", found: Confrontation) -> None:
    drawn = found.curves
    marker = "o" if len(drawn.k) == 1 else ""
    axes.plot(drawn.k, drawn.base, label="base", marker=marker, **_BASE)
    axes.plot(drawn.k, drawn.run, label="run", marker=marker, **_RUN)
    axes.set(ylabel=r"Pass@$k$", title=f"before and after, {found.prompts} prompts")
    axes.legend()
    _along_k(axes, found)


def _difference(axes: "Axes", found: Confrontation) -> None:
    drawn = found.curves
    axes.axhline(0, color=theme.BLACK, linewidth=0.6)
    axes.plot(drawn.k, drawn.difference, label="run - base", marker="o" if len(drawn.k) == 1 else "", **_RUN)
    theme.band(axes, drawn.k, drawn.low, drawn.high, theme.BLUE)
    title = "difference, 95% band over all $k$"
    start, end = drawn.first_worse or (1, None)
    if end is not None:
        axes.axvspan(start, end, color=theme.ORANGE, alpha=0.18, linewidth=0)
        title = f"first worse at $k$ = {start} to {end} (95%)"
    axes.set(ylabel=r"difference of Pass@$k$", title=title)
    _along_k(axes, found)


def _parts(axes: "Axes", found: Confrontation) -> None:
    ks = [part.k for part in found.parts]
    looks = (
        ("solved_set", "newly solved less lost", theme.VERMILLION, "s", "--"),
        ("narrowing", "solved by both", theme.GREEN, "^", "-"),
    )
    axes.axhline(0, color=theme.BLACK, linewidth=0.6)
    for name, words, color, marker, line in looks:
        values = [getattr(part, name) for part in found.parts]
        axes.plot(ks, [v.value for v in values], label=words, color=color, marker=marker, linestyle=line)
        theme.band(axes, ks, [v.low for v in values], [v.high for v in values], color)
    axes.set(ylabel=r"part of the change", title="the change is the sum of these")
    axes.legend()
    _along_k(axes, found)


def _laws(axes: "Axes", found: Confrontation) -> None:
    lines = found.laws[::-1]
    for at, line in enumerate(lines):
        score = line.held_out
        axes.plot([score.low, score.high], [at, at], color=theme.BLUE, linewidth=0.9)
        axes.plot(score.value, at, "o", color=theme.BLUE)
    axes.set_yticks(range(len(lines)), [_short(line.law) for line in lines])
    axes.tick_params(axis="y", labelsize=6)
    if min(line.held_out.low for line in lines) < -5:
        axes.set_xscale("symlog", linthresh=1)
    best = found.best
    words = f"held-out answers: best law {'' if best is not None and best.rejected else 'not '}rejected"
    axes.set(xlabel="nats a prompt below the best", title=words)


def _short(law: str) -> str:
    for long, short in _SHORT.items():
        law = law.replace(long, short)
    return law


def together_sheet(several: Together) -> "Drawing":
    """The change of Pass@k of every run, or along its steps, a panel for each of three k."""
    shown = several.shown
    names = list(dict.fromkeys(run.run for run in several.runs))
    along = several.runs[0].step is not None
    with theme.look():
        height = 2.2 if along else 1.1 + 0.25 * len(names)
        drawing, axes = theme.new(height=height, ncols=len(shown), sharey=True, squeeze=False)
        for ax, i in zip(axes[0], shown, strict=True):
            ax.set_title(f"change of Pass@{several.k[i]}")
            (_along_steps if along else _each_run)(ax, several, i, names)
        if along:
            axes[0, 0].set_ylabel("run less base")
        if along and len(names) > 1:
            seeds.legend(drawing, [axes[0, 0]], 4)
    return drawing


def _along_steps(axes: "Axes", several: Together, i: int, names: list[str]) -> None:
    axes.axhline(0, color=theme.BLACK, linewidth=0.6)
    looks = cycle(style for method, style in theme.METHODS.items() if method != "base")
    for name, style in zip(names, looks, strict=False):
        of_run = [(run.step, run.change[i]) for run in several.runs if run.run == name]
        steps, changes = np.array([step for step, _ in of_run]), [change for _, change in of_run]
        how = {**style, "marker": "o" if len(steps) == 1 else "", "label": name}
        axes.plot(steps, [c.value for c in changes], **how)
        theme.band(axes, steps, [c.low for c in changes], [c.high for c in changes], style["color"])
    axes.set(xlabel="step")


def _each_run(axes: "Axes", several: Together, i: int, names: list[str]) -> None:
    changes = [run.change[i] for run in several.runs]
    if several.mean is not None:
        changes, names = [*changes, several.mean[i]], [*names, "mean of the seeds"]
    axes.axvline(0, color=theme.BLACK, linewidth=0.6)
    for at, change in enumerate(changes):
        axes.plot([change.low, change.high], [at, at], color=theme.BLUE, linewidth=0.9)
        axes.plot(change.value, at, "o", color=theme.BLUE)
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="run less base")
