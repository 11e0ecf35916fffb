"""The look of every figure: a paper's widths and fonts, and one colour per method everywhere."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, LogFormatter, NullFormatter

from dph_theory.support.errors import choice

from .venues import SCREEN, TITLES, WIDTHS, Venue

# Okabe and Ito's colours, distinct in every common kind of colour vision; in grey, lines and markers differ.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE, GREY = "#D0B000", "#0072B2", "#D55E00", "#CC79A7", "#777777"
LIGHT = "#CCCCCC"  # Background elements.

LOOKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "base": {"color": GREY, "linestyle": (0, (1, 1)), "marker": "o"},
        "GRPO": {"color": VERMILLION, "linestyle": "-", "marker": "s"},
        "DAPO": {"color": ORANGE, "linestyle": "--", "marker": "D"},
        "reverse KL": {"color": PURPLE, "linestyle": "-.", "marker": "v"},
        "RKL": {"color": BLACK, "linestyle": (0, (1, 1)), "marker": "*"},
        "forward KL": {"color": BLUE, "linestyle": "-", "marker": "o"},
        "JS": {"color": GREEN, "linestyle": "--", "marker": "^"},
        "alpha": {"color": SKY, "linestyle": "-.", "marker": "P"},
        "DPG": {"color": YELLOW, "linestyle": (0, (5, 1)), "marker": "X"},
        "KL in the reward": {"color": BLACK, "linestyle": (0, (3, 1, 1, 1)), "marker": "d"},
    }
)
"""Look of a method, in every figure; a divergence looks like the method that is known for it."""
_ALIASES = {
    "reverse KL": ("reverse", "k2", "k3 with importance weight"),
    "forward KL": ("k3", "forward", "DPH-F", "rehearsal"),
    "JS": ("DPH-JS",),
    "alpha": ("DPH-alpha",),
    "DPG": ("alpha-DPG", "KL-DPG"),
    "KL in the reward": ("KL control", "KL-control"),
}
"""Beginnings of labels with the look of another label."""
_LOOKS_OF = {name: look for look in LOOKS for name in (look, *_ALIASES.get(look, ()))}
_SETS = r"$\mathcal{D}_{\mathrm{pef}}$"
_WORDS = {"DPH-alpha": r"DPH-$\alpha$", "alpha-DPG": r"$\alpha$-DPG", "alpha": r"$\alpha$"}
_WORDS |= {"reverse": f"reverse KL on {_SETS}"}
_RC: Any = mpl.rc_params_from_file(Path(__file__).with_name("paper.mplstyle"), use_default_template=False)


@dataclass
class Sheet:
    """Sheet of a figure: its width, and the panels that fit side by side; see TITLES for `title`."""

    venue: Venue = SCREEN
    width: str = "text"
    title: str = "finding"
    drawing: Drawing = field(init=False)

    def __post_init__(self) -> None:
        choice("width", self.width, WIDTHS)
        choice("title", self.title, TITLES)
        self.inches = self.venue.text if self.width == "text" else self.venue.column
        with self.look():
            self.drawing = Drawing(figsize=(self.inches, 2.4), layout="constrained")

    @property
    def narrow(self) -> bool:
        """Would two panels side by side have no room for their words?"""
        return self.inches < 4

    @contextmanager
    def look(self) -> Iterator[None]:
        """Apply matplotlib's settings for this sheet, and restore them afterwards."""
        fonts: Any = {"font.family": self.venue.words, "mathtext.fontset": self.venue.formulas}
        with mpl.rc_context({**_RC, **fonts}):
            yield

    def panels(self, count: int = 1, *, height: float = 2.3, across: int | None = None, **more: Any) -> Any:
        """Create axes in rows of `across`, or in one column; `height` of a row is in inches."""
        columns = 1 if self.narrow and across is None else min(count, across or count)
        rows = -(-count // columns)
        if columns == 1:
            more.pop("width_ratios", None)
        self.drawing.set_size_inches(self.inches, rows * height + 0.25)
        axes = self.drawing.subplots(rows, columns, squeeze=False, **more).ravel()
        return axes[0] if count == 1 else axes

    def legend(self, axes: Iterable[Axes], columns: int = 4, **more: Any) -> None:
        """Draw one legend below all axes; each entry appears once."""
        pairs = [pair for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
        entries = {name: handle for handle, name in reversed(pairs)}
        names = list(dict.fromkeys(name for _, name in pairs))
        columns = max(1, columns // 2) if self.narrow else columns
        place: Any = {"loc": "outside lower center", "ncols": columns} | more
        self.drawing.legend([entries[name] for name in names], names, **place)

    def finished(self, finding: str = "") -> Drawing:
        """Return the drawing with its finding above, without panel titles if the sheet has none.

        A logarithmic axis has ticks 1, 10, 100, except for numbers too long or too short.
        """
        for axes in self.drawing.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if isinstance(axis.get_major_formatter(), LogFormatter):
                    axis.set_major_formatter(FuncFormatter(_plain))
                    axis.set_minor_formatter(NullFormatter())
            for where in ("left", "center", "right") if self.title == "none" else ():
                axes.set_title("", loc=where)
        if finding:
            # This many characters of the title's size fit in an inch; the title takes no room from the
            # panels.
            lines = fill(finding, int(12 * self.inches))
            self.drawing.suptitle(lines, size=9, weight="bold")
            height = self.drawing.get_figheight() + 0.16 * (lines.count("\n") + 1)
            self.drawing.set_size_inches(self.inches, height)
        return self.drawing


def _plain(number: float, _: int) -> str:
    return f"{number:g}" if number == 0 or 1e-4 <= abs(number) <= 1e4 else f"$10^{{{np.log10(number):.0f}}}$"


def look(label: str, /, **more: Any) -> dict[str, Any]:
    """Colour, line and marker of a method, by the longest name that begins its label; `more` overrides."""
    names = [name for name in _LOOKS_OF if label.startswith(name)]
    own = LOOKS[_LOOKS_OF[max(names, key=len)]] if names else {"color": BLACK, "marker": "o"}
    return {**own, **more}


def written(label: str) -> str:
    """Label as shown in a figure: symbols as symbols, and without the coefficient that all share."""
    name, _, setting = label.rpartition(" ")
    if setting.startswith(("mu=", "alpha=")):
        symbol, _, number = setting.partition("=")
        return rf"{_WORDS.get(name, name)}, $\{symbol} = {number}$"
    if name and setting.replace(".", "").isdigit():
        return _WORDS.get(name, name)
    return _WORDS.get(label, label.replace("D_pef", _SETS))


def curve(
    axes: Axes, x: Any, mean: Any, low: Any = None, high: Any = None, *, bars: bool = False, **style: Any
) -> None:
    """Plot a mean along x, with its interval as a band, or as bars at its marks."""
    start, every = style.setdefault("markevery", (0, 1))
    axes.plot(x, mean, **style)
    if low is None or high is None or not np.isfinite([low, high]).all():
        return
    if bars:
        at, least, most = (np.asarray(part)[start::every] for part in (x, low, high))
        axes.vlines(at, least, most, colors=style["color"], linewidth=0.8)
    else:
        axes.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)


def dot(
    axes: Axes, estimate: Iterable[float], at: float, style: Mapping[str, Any], *, filled: bool = True
) -> None:
    """Plot a mean with its interval (mean, low, high) as a horizontal bar; nothing for nan."""
    mean, low, high = estimate
    if np.isnan(mean):
        return
    if np.isfinite([low, high]).all():
        axes.plot([low, high], [at, at], color=style["color"], linewidth=0.9)
    face = style["color"] if filled else "white"
    axes.plot(mean, at, style["marker"], color=style["color"], markerfacecolor=face, markersize=4.2)


def names_at(axes: Axes, at: float, ends: Collection[tuple[float, str, str]], gap: float = 0.055) -> None:
    """Write the names of lines (height, name, colour) at x = `at`, at least a gap apart."""
    heights = np.array(sorted(height for height, *_ in ends))
    for _ in range(200):
        for lower in range(len(heights) - 1):
            lack = max(0.0, gap - (heights[lower + 1] - heights[lower]))
            heights[lower : lower + 2] += (-lack / 2, lack / 2)
    for height, (_, name, color) in zip(heights, sorted(ends), strict=True):
        axes.text(at, height, name, color=color, va="center", size=9)


def rows(axes: Axes, labels: Collection[str]) -> None:
    """Label the rows, the first on top."""
    axes.set_yticks(range(len(labels)), [written(label) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)


def ticks(axes: Axes, values: Sequence[float], *, base: int | None = None) -> None:
    """Draw ticks on the x axis at these values only; `base` makes the axis logarithmic."""
    if base is not None:
        axes.set_xscale("log", base=base)
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def level(axes: Axes, value: float, **more: Any) -> None:
    """Draw a dotted horizontal line for comparison; `more` overrides its look."""
    style: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": ":"}
    axes.axhline(value, **style | more)
