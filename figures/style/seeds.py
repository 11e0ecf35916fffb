"""Means over seeds with their intervals, as curves and as dots, and how each method is written and drawn."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.transforms import ScaledTranslation

from dph_theory.intervals import Interval, mean_interval

from ..records import Array
from . import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from toy_lm.styles.results import Split

_LOOKS: Mapping[str, Mapping[str, Any]] = {
    **theme.METHODS,
    "KL control": theme.METHODS["KL-control"],
    "forward": theme.METHODS["DPH-F"],
    "JS": theme.METHODS["DPH-JS"],
    "alpha": theme.METHODS["DPH-alpha"],
    "reverse": {"color": theme.PURPLE, "linestyle": (0, (4, 1.5)), "marker": "<"},
}
SPLITS: "Mapping[Split, str]" = {"train": "training prompts", "held_out": "held-out prompts"}
"""The tiny transformer's prompts in words."""
_D_PEF = r"$\mathcal{D}_{\mathrm{pef}}$"
_WORDS = {
    "DPH-alpha": r"DPH-$\alpha$",
    "alpha-DPG": r"$\alpha$-DPG",
    "reverse": f"reverse KL on {_D_PEF}",
    "D_pef": _D_PEF,
    "alpha": r"$\alpha$",
}


@dataclass(frozen=True)
class Means:
    """A mean, or an array of them, with its 95% interval; None where there is one seed."""

    mean: Array
    low: Array | None = None
    high: Array | None = None

    @classmethod
    def of(cls, found: Interval) -> "Means":
        """An interval of `dph_theory.intervals`, whose bounds are infinite where they are not known."""
        mean, low, high = (np.asarray(bound, dtype=float) for bound in found)
        return cls(mean, low, high) if np.isfinite([low, high]).all() else cls(mean)

    def scaled(self, factor: float, less: Any = 0.0) -> "Means":
        """Means and bounds times a factor, less what is subtracted from each."""
        known = () if self.low is None or self.high is None else (self.low, self.high)
        return Means(*(factor * bound - np.asarray(less) for bound in (self.mean, *known)))


def over_seeds(values: Any, interval: Callable[..., Interval] = mean_interval) -> Means:
    """The mean over the first axis with its 95% interval.

    `interval` is one of `dph_theory.intervals`: probabilities have their own.
    """
    return Means.of(interval(np.asarray(values, dtype=float)))


def look(label: str) -> dict[str, Any]:
    """Colour, line and marker of a method, from the longest name that begins its label."""
    names = [name for name in _LOOKS if label.startswith(name)]
    return dict(_LOOKS[max(names, key=len)]) if names else {"color": theme.BLACK, "marker": "o"}


def written(label: str) -> str:
    """A label as it stands in a figure: symbols as symbols, and without the strength that all share."""
    name, _, setting = label.rpartition(" ")
    if setting.startswith(("mu=", "alpha=")):
        symbol, _, number = setting.partition("=")
        return rf"{_WORDS.get(name, name)}, $\{symbol} = {number}$"
    if name and setting.replace(".", "").isdigit():
        return _WORDS.get(name, name)
    if label in _WORDS:
        return _WORDS[label]
    return label.replace("D_pef", _D_PEF)


def legend(drawing: "Drawing", axes: Iterable["Axes"], columns: int) -> None:
    """One legend for all the axes, below them; what appears in several is explained once."""
    pairs = [pair for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
    entries = {name: handle for handle, name in reversed(pairs)}
    names = list(dict.fromkeys(name for _, name in pairs))
    drawing.legend([entries[name] for name in names], names, loc="outside lower center", ncols=columns)


def rows(axes: "Axes", labels: Collection[str]) -> None:
    """A row a method, the first on top."""
    axes.set_yticks(range(len(labels)), [written(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)


def curve(axes: "Axes", x: Any, found: Means, method: str, beside: float | None = None, **more: Any) -> None:
    """A mean along x with its interval, where there is one, as a band; `more` overrides the method's look.

    With `beside`, so many points to the right and the interval as bars where there are marks: at every so
    many of x from a first on (`markevery`).
    """
    how = {"label": written(method), **look(method), **more}
    start, every = how.setdefault("markevery", (0, 1))
    drawn: list[Artist] = [*axes.plot(x, found.mean, **how)]
    if found.low is not None and found.high is not None:
        if beside is None:
            theme.band(axes, x, found.low, found.high, how["color"])
        else:
            low, high = found.low[start::every], found.high[start::every]
            drawn.append(axes.vlines(x[start::every], low, high, how["color"], linewidth=0.8))
    points = theme.points(beside or 0) / 72
    for artist in drawn:
        # Afterwards, so that the limits are those of the data.
        artist.set_transform(axes.transData + ScaledTranslation(points, 0, axes.figure.dpi_scale_trans))


def dot(axes: "Axes", found: Means | None, at: float, label: str, *, filled: bool = True) -> None:
    """A mean across, with its interval as a bar; nothing for what is not known."""
    if found is None:
        return
    how = look(label)
    if found.low is not None and found.high is not None:
        axes.plot([found.low, found.high], [at, at], color=how["color"], linewidth=0.9)
    axes.plot(
        found.mean,
        at,
        how["marker"],
        color=how["color"],
        markerfacecolor=how["color"] if filled else "white",
        markersize=4.2,
        markeredgewidth=0.8,
    )
