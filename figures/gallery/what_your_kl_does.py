"""What each KL term in circulation estimates, what it descends, how noisily, and where it stops (B6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullFormatter

from dph_theory.support.record import from_json
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import theme

COLUMNS = {
    "value\nestimates": 0.95,
    "gradient\ndescends": 1.2,
    "gradient on\nsequences": 1.2,
    "minimiser": 0.7,
}
"""The matrix's columns and their widths."""
SAMPLES = {
    "policy": r"$\pi$",
    "old_policy": r"$\pi_{old}$",
    "filtered": r"$p_*$",
    "reference": r"$\pi_{ref}$",
}
SHORT = (
    ("forward KL(ref||pi)", "forward KL", theme.BLUE),
    ("forward KL(p_*||pi)", "forward KL to $p_*$", theme.BLUE),
    ("reverse KL(pi||ref)", "reverse KL", theme.PURPLE),
    ("JS generator to p_*", "JS to $p_*$", theme.GREEN),
    ("JS generator", "JS", theme.GREEN),
    ("alpha-divergence 0.2", r"$\alpha = 0.2$", theme.SKY),
    ("alpha-divergence 0.5", r"$\alpha = 0.5$", theme.SKY),
    ("minus expected reward", "reward", theme.GREY),
    ("entropy", "entropy", theme.GREY),
    ("chi-squared", r"$\chi^2$", theme.SKY),
    ("total variation", "TV", theme.ORANGE),
    ("zero", "zero", theme.BLACK),
)
"""By the beginning of an audited quantity's name: what a cell says, and its colour."""
DARK = (theme.BLACK, theme.BLUE)
"""What white words are written on."""
MINIMISERS = {
    "p_*": ("$p_*$", theme.BLUE),
    "base rate": ("mass $A_1$", theme.ORANGE),
    "constant": ("mass $c A_1$", theme.ORANGE),
    "other": ("other", theme.GREY),
    "none": ("none", theme.GREY),
}


QUICK = (
    ("k1", "policy"),
    ("k2", "policy"),
    ("k3", "policy"),
    ("corrected k3", "old_policy"),
    ("clamped k3", "policy"),
    ("forward KL, printed", "filtered"),
    ("forward KL, normalised", "filtered"),
)
"""The forms of a reduced run, each on its samples."""


@dataclass(frozen=True, kw_only=True)
class WhatYourKlDoesConfig(FigureConfig):
    """The forms (name, samples) that are audited; None for the whole catalogue."""

    forms: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class WhatYourKlDoesMatch:
    """What a quantity is found to be, or nearest to at an angle in degrees; as `dph_theory.audit` says."""

    name: str
    exact: bool
    constant: float | None = None
    per_token: bool = False
    angle: float | None = None
    bias: tuple[float, float] | None = None
    terms: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class WhatYourKlDoesMinimiser:
    """Where the loss on correct samples is least; as `dph_theory.audit` says."""

    target: str
    masses: tuple[tuple[float, float], ...]
    within_valid: float
    ratio: float | None = None


@dataclass(frozen=True, kw_only=True)
class WhatYourKlDoesRow:
    """A form on its samples: what its value and its gradients are, and where it fails, by log ratio."""

    loss: str
    samples: str
    verdict: str
    value: WhatYourKlDoesMatch
    gradient: WhatYourKlDoesMatch
    sequence_gradient: WhatYourKlDoesMatch
    minimiser: WhatYourKlDoesMinimiser | None = None
    variance: float | None = None
    dead_zones: tuple[tuple[float, float], ...]
    nan: dict[str, tuple[float, ...]]
    source: str
    formula: str

    @property
    def descends_another(self) -> bool:
        """Whether it estimates one divergence exactly, and descends another."""
        said, done = self.value, self.gradient
        both = said.exact and done.exact and done.name != "zero"
        return both and done.name != said.name.removesuffix(" + log A1")


@dataclass(frozen=True)
class WhatYourKlDoesNumbers:
    """A row a form."""

    rows: tuple[WhatYourKlDoesRow, ...]


def compute(config: WhatYourKlDoesConfig, records: Records) -> WhatYourKlDoesNumbers:
    """The audit of the catalogue, or of the forms that the configuration names."""
    # Here, so that drawing stored numbers needs no torch.
    from dph_theory.audit.catalogue import audit_form, form_of
    from dph_theory.methods.estimators import CATALOGUE

    wanted = config.forms
    places = [i for i, f in enumerate(CATALOGUE) if wanted is None or (f.name, f.samples) in wanted]
    rows = []
    for report in (audit_form(place, config.seed) for place in places):
        form = form_of(report)
        nan = {extremes.dtype: extremes.nan for extremes in report.extremes}
        rows.append(report.to_dict() | {"nan": nan, "source": form.source, "formula": form.formula})
    return from_json(WhatYourKlDoesNumbers, {"rows": rows})


def table(results: WhatYourKlDoesNumbers) -> Table:
    """How many forms have no gradient in expectation, descend another divergence, or have dead zones."""
    counts = {
        "audited": [row.loss for row in results.rows],
        "no gradient in expectation": [row.loss for row in results.rows if row.gradient.name == "zero"],
        "estimates one divergence, descends another": [r.loss for r in results.rows if r.descends_another],
        "no gradient at some log ratios": [row.loss for row in results.rows if row.dead_zones],
    }
    few = [(what, float(len(of)), ", ".join(dict.fromkeys(of))) for what, of in list(counts.items())[1:]]
    return Table.of(("forms", "number", "which"), [("audited", float(len(results.rows)), ""), *few])


def draw(config: WhatYourKlDoesConfig, results: WhatYourKlDoesNumbers) -> Drawing:
    """A matrix of the matches, the relative variances, and the dead zones, a row a form."""
    rows = results.rows
    drawing, (matrix, variance, zones) = theme.new(
        ncols=3, height=1.1 + 0.17 * len(rows), width_ratios=(5.4, 0.8, 1.3), sharey=True
    )
    _draw_matrix(matrix, rows)
    places = np.arange(len(rows))
    known = [(row.variance, i) for i, row in enumerate(rows) if row.variance is not None]
    for axes in (variance, zones):
        axes.hlines(places, 0, 1, transform=axes.get_yaxis_transform(), color=theme.GREY, lw=0.2, zorder=0)
        axes.tick_params(axis="y", length=0)
    variance.plot(*zip(*known, strict=True), "o", color=theme.BLACK)
    variance.margins(x=0.12)
    variance.set(xscale="log", xlabel="relative\nvariance")
    variance.xaxis.set_minor_formatter(NullFormatter())
    _draw_zones(zones, rows)
    return drawing


def _draw_matrix(axes: Axes, rows: Sequence[WhatYourKlDoesRow]) -> None:
    edges = np.concatenate([[0], np.cumsum(list(COLUMNS.values()))])
    for place, row in enumerate(rows):
        cells = [_cell(match) for match in (row.value, row.gradient, row.sequence_gradient)]
        if row.minimiser is not None:
            word, color = MINIMISERS[row.minimiser.target]
            cells.append((word, color, True))
        for (start, end), (word, color, exact) in zip(pairwise(edges), cells, strict=False):
            corner, width = (start + 0.02, place - 0.42), end - start - 0.04
            face = color if exact else "none"
            axes.add_patch(Rectangle(corner, width, 0.84, facecolor=face, edgecolor=color, lw=0.6))
            shade = "white" if exact and color in DARK else theme.BLACK
            middle = (start + end) / 2
            axes.text(
                middle,
                place,
                word,
                ha="center",
                va="center_baseline",
                color=shade,
                fontsize=theme.points(5.5),
            )
    axes.set(xlim=(0, edges[-1]), ylim=(len(rows) - 0.4, -0.6))
    axes.set_xticks((edges[:-1] + edges[1:]) / 2, COLUMNS)
    axes.xaxis.tick_top()
    names = [f"{row.loss}, on {SAMPLES[row.samples]}" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=theme.points(6))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cell(match: WhatYourKlDoesMatch) -> tuple[str, str, bool]:
    """What a cell says of a match, its colour, and whether the match is exact."""
    per_token = match.name.startswith("token sum of ")
    name = match.name.removeprefix("token sum of ")
    word, color = next(((word, color) for start, word, color in SHORT if name.startswith(start)), ("", ""))
    if not word:
        return ("none", theme.GREY, False)
    word = rf"$\Sigma_t$ {word}" if per_token else word
    if match.exact or word == "zero":
        return (word, color, True)
    if match.angle is not None:
        word += rf", ${match.angle:.0f}^\circ$" if match.angle >= 1 else r", $<1^\circ$"
    return (rf"$\approx$ {word}", color, False)


def _draw_zones(axes: Axes, rows: Sequence[WhatYourKlDoesRow]) -> None:
    for place, row in enumerate(rows):
        for low, high in row.dead_zones:
            axes.barh(place, high - low, left=low, height=0.5, color=theme.VERMILLION)
        nan = [x for x in row.nan.get("float32", ()) if abs(x) <= 1000]
        axes.plot(nan, [place] * len(nan), "x", color=theme.BLACK)
    axes.set_xscale("symlog", linthresh=1, linscale=0.6)
    axes.set(xlim=(-1500, 1500), xlabel=r"$\log\,\pi/\pi_{ref}$")
    axes.set_xticks([-100, 0, 100], ["-100", "0", "100"])
    handles = [
        Patch(color=theme.VERMILLION, label="no gradient"),
        Line2D([], [], ls="", marker="x", color=theme.BLACK, label="nan in float32"),
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), handlelength=1.0)


FIGURE = Figure(
    name="what_your_kl_does",
    title="What a KL term estimates is often not what its gradient descends",
    caption=(
        "Each row is a published form of a KL term, on the samples that it is used with (pi: the policy, "
        "pi_ref: the reference, p_*: correct samples of the reference); nothing is sampled, every answer of "
        "small problems is listed. The columns say what its value estimates, what its gradient descends for "
        "single answers and for token sequences (a sum over t is over next-token divergences), and, on "
        "correct samples, where the loss has its minimum; a filled cell is an exact match on every audited "
        "problem, an outlined cell names the nearest quantity, with the angle between the gradients. Then: "
        "the variance of the gradient from one sample over the squared length of its mean, and the log "
        "ratios, searched from -700 to 700, at which a sampled token gets no gradient, or nan in float32."
    ),
    results=WhatYourKlDoesNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=WhatYourKlDoesConfig(),
    quick=WhatYourKlDoesConfig(forms=QUICK),
    packages=("numpy", "scipy", "torch"),
)
