"""One look for every figure: widths, fonts, and colours that mean the same method everywhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from .venues import Venue

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_COLUMN, TWO_COLUMNS = 3.35, 6.9
"""Widths in inches."""

# Okabe and Ito's colours, told apart by every common kind of colour vision; in greyscale the line styles and
# markers tell the methods apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE, GREY = "#D0B000", "#0072B2", "#D55E00", "#CC79A7", "#777777"

METHODS: dict[str, dict[str, Any]] = {
    "base": {"color": GREY, "linestyle": (0, (1, 1)), "marker": "o"},
    "GRPO": {"color": VERMILLION, "linestyle": "-", "marker": "s"},
    "DAPO": {"color": ORANGE, "linestyle": "--", "marker": "D"},
    "RKL": {"color": PURPLE, "linestyle": "-.", "marker": "v"},
    "DPH-F": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "DPH-JS": {"color": GREEN, "linestyle": "--", "marker": "^"},
    "DPH-alpha": {"color": SKY, "linestyle": "-.", "marker": "P"},
    "alpha-DPG": {"color": YELLOW, "linestyle": (0, (5, 1)), "marker": "X"},
    "KL-control": {"color": BLACK, "linestyle": (0, (3, 1, 1, 1)), "marker": "d"},
}
"""How a method is drawn, wherever it is drawn."""
DIVERGENCES: dict[str, dict[str, Any]] = {
    "none": METHODS["GRPO"],
    "forward": METHODS["DPH-F"],
    "JS": METHODS["DPH-JS"],
    "alpha": METHODS["DPH-alpha"],
    "reverse": METHODS["RKL"],
}
"""A divergence looks like the method that is known for it."""

_SIZES = {
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
}
"""In points, for a drawing as wide as TWO_COLUMNS."""
_RC: Any = {
    "legend.frameon": False,
    # Long enough to tell one dashed line from another.
    "legend.handlelength": 2.8,
    "mathtext.fontset": "cm",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=[BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK, YELLOW]),
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # What LaTeX sets has the fonts of the document.
    "pgf.rcfonts": False,
    # The same drawing gives the same bytes.
    "svg.hashsalt": "dph",
}

_scale: ContextVar[float] = ContextVar("scale", default=1.0)


@contextmanager
def look(venue: Venue | None = None) -> Iterator[None]:
    """Matplotlib's settings for a drawing, back to what they were afterwards.

    With a venue, its fonts, and drawings of TWO_COLUMNS as wide as its text. Words shrink with the drawing,
    so that what is apart stays apart.
    """
    scale = 1.0 if venue is None else venue.text / TWO_COLUMNS
    sizes = {name: scale * size for name, size in _SIZES.items()}
    before = _scale.set(scale)
    try:
        with mpl.rc_context(_RC | sizes | ({} if venue is None else venue.fonts())):
            yield
    finally:
        _scale.reset(before)


def points(size: float) -> float:
    """A size of words in points, for a drawing as wide as TWO_COLUMNS, as it is in the present look."""
    return size * _scale.get()


def new(width: float = TWO_COLUMNS, height: float = 2.4, **subplots: Any) -> tuple[Figure, Any]:
    """An empty figure and its axes, as `subplots` gives them; no window, no global state."""
    scale = _scale.get()
    drawing = Figure(figsize=(scale * width, scale * height), layout="constrained")
    return drawing, drawing.subplots(**subplots)


def ticks(axes: "Axes", values: Sequence[float]) -> None:
    """Ticks across at these values, as short as they can be written, and no others."""
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def level(axes: "Axes", value: float, **more: Any) -> None:
    """A dotted line across, to compare with; `more` overrides how it is drawn."""
    how: dict[str, Any] = {"color": GREY, "linewidth": 0.8, "linestyle": ":"}
    axes.axhline(value, **how | more)


def band(axes: "Axes", x: Any, low: Any, high: Any, color: str) -> None:
    """An interval drawn around a curve."""
    axes.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)
