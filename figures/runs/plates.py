"""The plates of a user's runs: Pass@k, kept and new, styles, laws, theory, training curves, profiles."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dph_theory.aggregates import performance_profile
from dph_theory.intervals import mean_interval, probability_interval

from ..look import seeds, theme
from .inputs import Run, Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLORS = (theme.BLUE, theme.VERMILLION, theme.GREEN, theme.ORANGE, theme.PURPLE, theme.SKY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = "os^Dv<"
_LOGGED = (("reward", "mean reward"), ("collapse/excess_kl", "excess KL, nats"))


def _looks(runs: Runs) -> dict[str, dict[str, Any]]:
    """The look of each label: that of the method it names, else colours, lines and markers in turn."""
    made: dict[str, dict[str, Any]] = {}
    for i, label in enumerate(runs.by_label):
        known = seeds.look(label)
        turn = {"color": _COLORS[i % 6], "linestyle": _LINES[i % 4], "marker": _MARKERS[i % 6]}
        made[label] = turn if known["color"] == theme.BLACK else known
    return made


def _curve(axes: "Axes", x: Sequence[float], found: seeds.Means, label: str, how: Mapping[str, Any]) -> None:
    seeds.curve(axes, x, found, label, **how, markersize=0)


def _pass_at_k(runs: Runs) -> "Drawing":
    drawing, axes = theme.new(theme.ONE_COLUMN, 2.7)
    shared = min((run.found.curves for run in runs.runs), key=lambda curves: len(curves.k))
    size = len(shared.k)
    axes.plot(shared.k, shared.base, label="base", **{**theme.METHODS["base"], "marker": ""})
    for label, how in _looks(runs).items():
        values = [run.found.curves.run[:size] for run in runs.by_label[label]]
        _curve(axes, shared.k, seeds.over_seeds(values, probability_interval), label, how)
    if shared.k[-1] > 1:
        axes.set_xscale("log", base=2)
    axes.set(xlabel=r"$k$", ylabel=r"Pass@$k$")
    seeds.legend(drawing, [axes], 3)
    return drawing


def _across(
    runs: Runs, value: Callable[[Run], float | None], axes: "Axes", words: str, mark: float | None
) -> None:
    """A dot for each label, mean over seeds, and a line where an unchanged model or the base stands."""
    looks = _looks(runs)
    for at, (label, group) in enumerate(runs.by_label.items()):
        values = [found for run in group if (found := value(run)) is not None]
        if values:
            bounded = max(values) <= 1
            means = seeds.over_seeds(values, probability_interval if bounded else mean_interval)
            if means.low is not None and means.high is not None:
                axes.plot([means.low, means.high], [at, at], color=looks[label]["color"])
            axes.plot(means.mean, at, looks[label]["marker"], color=looks[label]["color"])
    if mark is not None:
        axes.axvline(mark, color=theme.GREY, linestyle=":", linewidth=0.9)
    axes.set_yticks(range(len(looks)), [seeds.written(label) for label in looks])
    axes.set_ylim(-0.6, len(looks) - 0.4)
    axes.set(xlabel=words)


def _kept_and_new(runs: Runs) -> "Drawing":
    drawing, axes = theme.new(height=1.2 + 0.25 * len(runs.by_label), ncols=2, sharey=True)
    first = runs.runs[0].found.kept
    _across(runs, _kept, axes[0], "kept, of prompts the base solves", first.kept_unchanged)
    _across(runs, _new, axes[1], "newly solved, of the others", first.new_unchanged)
    return drawing


def _kept(run: Run) -> float | None:
    found = run.found.kept.kept
    return None if found is None else found.value


def _new(run: Run) -> float | None:
    found = run.found.kept.new
    return None if found is None else found.value


def _kinds(run: Run) -> float | None:
    return None if run.found.styles is None else run.found.styles.run.value


def _styles(runs: Runs) -> "Drawing | None":
    drawing, axes = theme.new(theme.ONE_COLUMN, 1.2 + 0.25 * len(runs.by_label))
    kinds = [run.found.styles for run in runs.runs if run.found.styles is not None]
    words = f"styles in {kinds[0].k} correct answers" if kinds else ""
    before = kinds[0].base.value if kinds else None
    _across(runs, _kinds, axes, words, before)
    return drawing if kinds else None


def _laws(runs: Runs) -> "Drawing":
    laws = sorted({line.law for run in runs.runs for line in run.found.laws})
    drawing, axes = theme.new(height=1.2 + 0.22 * len(laws))
    for label, how in _looks(runs).items():
        scores = {law: [] for law in laws}  # type: ignore[var-annotated]
        for run in runs.by_label[label]:
            for line in run.found.laws:
                scores[line.law].append(line.held_out.value)
        means = [np.mean(scores[law]) if scores[law] else np.nan for law in laws]
        axes.plot(means, range(len(laws)), how["marker"], color=how["color"], label=seeds.written(label))
    axes.set_yticks(range(len(laws)), laws)
    axes.set(xlabel="held-out answers, nats a prompt below the best")
    seeds.legend(drawing, [axes], 4)
    return drawing


def _theory(runs: Runs) -> "Drawing":
    drawing, axes = theme.new(theme.ONE_COLUMN, 3.2)
    axes.plot([0, 1], [0, 1], color=theme.GREY, linestyle=":", linewidth=0.9, label="as predicted")
    for label, how in _looks(runs).items():
        bins = [b for run in runs.by_label[label] for b in run.found.calibration]
        x, y = [b.predicted for b in bins], [b.seen.value for b in bins]
        axes.plot(x, y, how["marker"], color=how["color"], label=seeds.written(label))
    axes.set(xlabel="rate that the best law predicts", ylabel="rate seen")
    seeds.legend(drawing, [axes], 3)
    return drawing


def _training(runs: Runs) -> "Drawing | None":
    if not any(run.log for run in runs.runs):
        return None
    drawing, axes = theme.new(ncols=len(_LOGGED))
    for ax, (key, words) in zip(axes, _LOGGED, strict=True):
        for label, how in _looks(runs).items():
            logs = [[e for e in run.log if key in e and "step" in e] for run in runs.by_label[label]]
            size = min(len(log) for log in logs)
            if size:
                steps = [entry["step"] for entry in logs[0][:size]]
                values = [[entry[key] for entry in log[:size]] for log in logs]
                _curve(ax, steps, seeds.over_seeds(values), label, how)
        ax.set(xlabel="step", ylabel=words)
    seeds.legend(drawing, axes, 4)
    return drawing


def _profiles(runs: Runs) -> "Drawing":
    drawing, axes = theme.new(theme.ONE_COLUMN, 2.7)
    levels = np.linspace(0, 1, 101)[:-1]
    base = performance_profile(runs.base_rates[None], levels)
    axes.plot(levels, base, label="base", **{**theme.METHODS["base"], "marker": ""})
    for label, how in _looks(runs).items():
        values = [performance_profile(run.rates[None], levels) for run in runs.by_label[label]]
        _curve(axes, levels.tolist(), seeds.over_seeds(values, probability_interval), label, how)
    axes.set(xlabel=r"pass rate $\tau$", ylabel=r"share of prompts above $\tau$")
    seeds.legend(drawing, [axes], 3)
    return drawing


PLATES: Mapping[str, Callable[[Runs], "Drawing | None"]] = MappingProxyType(
    {
        "runs_pass_at_k": _pass_at_k,
        "runs_keep_and_explore": _kept_and_new,
        "runs_styles": _styles,
        "runs_laws": _laws,
        "runs_theory_against_training": _theory,
        "runs_training_curves": _training,
        "runs_profiles": _profiles,
    }
)
"""The plates by name; one that gives None has nothing to draw in these runs."""
