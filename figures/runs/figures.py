"""The figures of a user's runs: Pass@k, kept and new, styles, laws, theory, training curves, profiles."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from dph_theory.counts.law_fits import LawScore
from dph_theory.counts.pass_at_k import told_ks
from dph_theory.intervals import Estimate, mean_interval, performance_profile, probability_interval
from dph_theory.support.table import Table

from ..style import seeds, theme
from ..style.seeds import Means
from . import tables
from .tables import OwnRun, Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


_COLORS = (theme.BLUE, theme.VERMILLION, theme.GREEN, theme.ORANGE, theme.PURPLE, theme.SKY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = "os^Dv<"


def _looks(runs: Runs) -> dict[str, dict[str, Any]]:
    """Each label with its look: that of the method that it is first to name, else what is left, in turn."""
    known = {label: seeds.look(label) for label in runs.by_label}
    first = {how["color"]: label for label, how in reversed(known.items()) if how["color"] != theme.BLACK}
    free = [i for i, color in enumerate(_COLORS) if color not in first] or [*range(len(_COLORS))]
    turns = ({"color": _COLORS[i], "linestyle": _LINES[i % 4], "marker": _MARKERS[i]} for i in cycle(free))
    return {
        label: (how if first.get(how["color"]) == label else next(turns)) | {"label": label}
        for label, how in known.items()
    }


def _along(
    axes: "Axes", runs: Runs, x: Any, values: Callable[[OwnRun], Means], interval: Any, every: int = 1
) -> None:
    """A curve a label, with bars over its seeds or those of its only run.

    Curves stand side by side; those with bars at every so many of x alone have them one after another.
    """
    size = len(runs.by_label)
    for place, (label, how) in enumerate(_looks(runs).items()):
        group = runs.by_label[label]
        several = seeds.over_seeds([values(run).mean for run in group], interval)
        found = several if len(group) > 1 else values(group[0])
        beside = 3 * (place - (size - 1) / 2) if every == 1 else 0
        seeds.curve(axes, x, found, label, beside=beside, markevery=(place * every // size, every), **how)


def _pass_at_k(runs: Runs) -> "Drawing":
    drawing, (left, right) = theme.new(height=2.7, ncols=2)
    shared = min((run.found.curves for run in runs.runs), key=lambda curves: len(curves.k))
    left.plot(shared.k, shared.base, label="base", **{**theme.METHODS["base"], "marker": ""})
    for label, how in _looks(runs).items():
        curves = [run.found.curves.run[: len(shared.k)] for run in runs.by_label[label]]
        left.plot(shared.k, np.mean(curves, axis=0), **how | {"marker": "", "label": ""})
    at = [place for place, k in enumerate(shared.k) if k in told_ks(shared.k[-1])]
    theme.level(right, 0, **theme.METHODS["base"] | {"marker": ""})

    def differences(run: OwnRun) -> Means:
        curves = run.found.curves
        return Means(*(np.array(side)[at] for side in (curves.difference, curves.low, curves.high)))

    _along(right, runs, np.array(shared.k)[at], differences, mean_interval)
    worse = [all(run.found.curves.worse for run in group) for group in runs.by_label.values()]
    for axes in (left, right):
        if shared.k[-1] > 1:
            axes.set_xscale("log", base=2)
        theme.ticks(axes, [shared.k[place] for place in at][:: len(at) // 8 + 1])
        axes.set_xlabel(r"answers $k$")
    left.set(ylabel=r"Pass@$k$", title=f"{runs.runs[0].found.prompts} prompts")
    right.set(
        ylabel=r"Pass@$k$ less the base's", title=f"{sum(worse)} of {len(worse)} told worse at some $k$"
    )
    seeds.legend(drawing, [left, right], 5)
    return drawing


def _profiles(runs: Runs) -> "Drawing":
    drawing, axes = theme.new(theme.ONE_COLUMN, 2.7)
    base = performance_profile(runs.base_rates[None], tables.LEVELS)
    axes.plot(tables.LEVELS, base, label="base", **{**theme.METHODS["base"], "marker": ""})

    def profile(run: OwnRun) -> Means:
        found = performance_profile(run.rates[None], tables.LEVELS)
        # Dvoretzky, Kiefer, Wolfowitz and Massart: at all levels at once.
        half = np.sqrt(np.log(2 / 0.05) / (2 * len(run.rates)))
        return Means(found, (found - half).clip(0), (found + half).clip(max=1))

    _along(axes, runs, np.array(tables.LEVELS), profile, probability_interval, every=25)
    axes.set(xlabel=r"pass rate $\tau$", ylabel=r"share of prompts above $\tau$")
    seeds.legend(drawing, [axes], 3)
    return drawing


def _dot(axes: "Axes", found: Estimate | None, at: float, how: dict[str, Any], label: str = "") -> None:
    """A number across, with its interval as a bar; nothing for what is not known."""
    if found is None:
        return
    if np.isfinite([found.low, found.high]).all():
        axes.plot([found.low, found.high], [at, at], color=how["color"], linewidth=0.9)
    axes.plot(found.value, at, how["marker"], color=how["color"], label=label or None)


def _across(
    runs: Runs,
    axes: "Axes",
    words: str,
    mark: float | None,
    value: Callable[[OwnRun], Estimate | None],
    interval: Any,
) -> None:
    """A dot for each label, and a line where an unchanged model or the base stands."""
    looks = _looks(runs)
    for at, (label, group) in enumerate(runs.by_label.items()):
        _dot(axes, tables.label_estimate(group, value, interval), at, looks[label])
    if mark is not None:
        axes.axvline(mark, color=theme.GREY, linestyle=":", linewidth=0.9)
    axes.set_yticks(range(len(looks)), looks)
    axes.set_ylim(len(looks) - 0.5, -0.5)
    axes.set(xlabel=words)


def _kept_and_new(runs: Runs) -> "Drawing":
    drawing, (left, right) = theme.new(height=1.2 + 0.25 * len(runs.by_label), ncols=2, sharey=True)
    first = runs.runs[0].found.kept
    shown = (
        (left, "kept, of prompts the base solves", first.kept_unchanged, tables.kept),
        (right, "newly solved, of the others", first.new_unchanged, tables.new),
    )
    for axes, words, unchanged, value in shown:
        _across(runs, axes, words, unchanged, value, probability_interval)
    return drawing


def _styles(runs: Runs) -> "Drawing | None":
    drawing, axes = theme.new(theme.ONE_COLUMN, 1.2 + 0.25 * len(runs.by_label))
    first = next((run.found.styles for run in runs.runs if run.found.styles is not None), None)
    if first is None:
        return None
    words = f"styles in {first.k} correct answers"
    _across(runs, axes, words, first.base.value, tables.kinds, mean_interval)
    return drawing


def _laws(runs: Runs) -> "Drawing | None":
    names, looks = tables.law_names(runs), _looks(runs)
    if not names:
        return None
    drawing, axes = theme.new(height=1.2 + 0.22 * len(names))
    for i, (label, group) in enumerate(runs.by_label.items()):
        # Side by side on a line, in the order of the legend.
        offset = 0.5 * ((i + 0.5) / len(looks) - 0.5)
        for at, law in enumerate(names):
            found = tables.label_estimate(group, tables.held_out(law), mean_interval)
            _dot(axes, found, at - offset, looks[label], "" if at else label)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    rejected = [_best(run).rejected for run in runs.runs if run.found.laws]
    axes.set(xlabel="held-out answers, nats a prompt below the best")
    axes.set_title(f"Best law rejected for {sum(rejected)} of {len(rejected)} runs")
    seeds.legend(drawing, [axes], 4)
    return drawing


def _best(run: OwnRun) -> LawScore:
    return next(law for law in run.found.laws if law.law == run.found.best_law)


def _training(runs: Runs) -> "Drawing | None":
    if not any(run.log for run in runs.runs):
        return None
    drawing, axes = theme.new(ncols=len(tables.LOGGED))
    for ax, (key, words) in zip(axes, tables.LOGGED.items(), strict=True):
        for place, (label, how) in enumerate(_looks(runs).items()):
            steps, values = tables.logs(runs.by_label[label], key)
            if steps:
                how["markevery"] = (place, max(len(steps) // 6, len(runs.by_label)))
                means = Means.of(tables.logged_interval(key, values))
                seeds.curve(ax, np.array(steps), means, label, beside=0, **how)
        ax.set(xlabel="step", ylabel=words)
    seeds.legend(drawing, axes, 4)
    return drawing


@dataclass(frozen=True)
class OwnFigure:
    """A figure by name: what it shows, its drawing (None where the runs hold nothing of it), its numbers."""

    name: str
    title: str
    caption: str
    draw: Callable[[Runs], "Drawing | None"]
    table: Callable[[Runs], Table]


OWN_FIGURES = (
    OwnFigure(
        "runs_pass_at_k",
        "Where the runs solve more than the base, and where less",
        "Left: the chance that at least one of k answers is correct, mean over prompts, unbiased. Right: its "
        "difference to the base, set side by side; of a single run the intervals hold at all k at once.",
        _pass_at_k,
        tables.pass_at_k,
    ),
    OwnFigure(
        "runs_keep_and_explore",
        "What the runs keep of the base, and what they newly solve",
        "Left: of the prompts that the base solves at least once, the share that a run still does. Right: "
        "of the others, the share that it newly solves. Dotted: what a model with the base's rates reaches.",
        _kept_and_new,
        tables.kept_and_new,
    ),
    OwnFigure(
        "runs_styles",
        "How many styles the runs are left with",
        "The expected number of different styles among as many correct answers; dotted: the base's.",
        _styles,
        tables.styles,
    ),
    OwnFigure(
        "runs_laws",
        "Which law of training predicts answers held out",
        "The mean log probability of a prompt's held-out answers under each law of training, less that under "
        "the best; 0 is the best.",
        _laws,
        tables.laws,
    ),
    OwnFigure(
        "runs_training_curves",
        "Reward gained along training, and diversity lost beyond its price",
        "Mean reward and excess KL as the trainer logged them.",
        _training,
        tables.training,
    ),
    OwnFigure(
        "runs_profiles",
        "On how many prompts the runs are how often right",
        "The share of prompts whose measured pass rate is above a level, with intervals at some levels; of a "
        "single run they hold at all levels at once (Dvoretzky, Kiefer, Wolfowitz).",
        _profiles,
        tables.profiles,
    ),
)
"""The figures, in the order in which they are drawn."""
