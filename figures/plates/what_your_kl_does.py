"""What each KL term in circulation estimates, what it descends, how noisily, and where it stops (B6)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullFormatter

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record

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


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The audit of the catalogue, or of the forms (name, samples) that the configuration names."""
    # Here, so that drawing stored numbers needs no torch.
    from dph_theory.audit.catalogue import CATALOGUE, audit_form, form_of

    wanted = None if config["forms"] is None else {tuple(form) for form in config["forms"]}
    places = [i for i, f in enumerate(CATALOGUE) if wanted is None or (f.name, f.samples) in wanted]
    reports = [audit_form(place, config["seed"]) for place in places]
    kept = ("loss", "samples", "verdict", "value", "gradient", "sequence_gradient", "minimiser")
    rows = []
    for report in reports:
        form, found = form_of(report), report.as_json()
        row = {key: found[key] for key in (*kept, "variance", "dead_zones")}
        nan = {extremes.dtype: list(extremes.nan) for extremes in report.extremes}
        rows.append({**row, "nan": nan, "source": form.source, "formula": form.formula})
    return {"rows": rows}


def findings(results: Mapping[str, Any]) -> list[str]:
    """How many forms descend what they estimate."""
    rows = results["rows"]
    zero = [row["loss"] for row in rows if row["gradient"]["name"] == "zero"]
    other = [
        row["loss"]
        for row in rows
        if row["value"]["exact"]
        and row["gradient"]["exact"]
        and row["gradient"]["name"] not in ("zero", row["value"]["name"].removesuffix(" + log A1"))
    ]
    return [
        f"Of {len(rows)} forms, these have no gradient in expectation: {', '.join(zero) or 'none'}.",
        f"These estimate one divergence and descend another: {', '.join(other) or 'none'}.",
        "Forms that give a sampled token no gradient at some log ratios: "
        f"{sum(bool(row['dead_zones']) for row in rows)}.",
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """A matrix of the matches, the relative variances, and the dead zones, a row a form."""
    rows = record["results"]["rows"]
    drawing, (matrix, variance, zones) = theme.new(
        ncols=3, height=1.1 + 0.17 * len(rows), width_ratios=(5.4, 0.8, 1.3), sharey=True
    )
    _draw_matrix(matrix, rows)
    places = np.arange(len(rows))
    known = [(i, row["variance"]) for i, row in zip(places, rows, strict=True) if row["variance"] is not None]
    for axes in (variance, zones):
        axes.hlines(places, 0, 1, transform=axes.get_yaxis_transform(), color=theme.GREY, lw=0.2, zorder=0)
        axes.tick_params(axis="y", length=0)
    variance.plot([v for _, v in known], [i for i, _ in known], "o", color=theme.BLACK)
    variance.margins(x=0.12)
    variance.set(xscale="log", xlabel="variance")
    variance.xaxis.set_minor_formatter(NullFormatter())
    _draw_zones(zones, rows)
    return drawing


def _draw_matrix(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    edges = np.concatenate([[0], np.cumsum(list(COLUMNS.values()))])
    for place, row in enumerate(rows):
        cells = [_cell(row[key]) for key in ("value", "gradient", "sequence_gradient")]
        if row["minimiser"] is not None:
            word, color = MINIMISERS[row["minimiser"]["target"]]
            cells.append((word, color, True))
        for (start, end), (word, color, exact) in zip(pairwise(edges), cells, strict=False):
            corner, width = (start + 0.02, place - 0.42), end - start - 0.04
            face = color if exact else "none"
            axes.add_patch(Rectangle(corner, width, 0.84, facecolor=face, edgecolor=color, lw=0.6))
            shade = "white" if exact and color in DARK else theme.BLACK
            middle = (start + end) / 2
            axes.text(middle, place, word, ha="center", va="center_baseline", color=shade, fontsize=5.5)
    axes.set(xlim=(0, edges[-1]), ylim=(len(rows) - 0.4, -0.6))
    axes.set_xticks((edges[:-1] + edges[1:]) / 2, COLUMNS)
    axes.xaxis.tick_top()
    names = [f"{row['loss']}, on {SAMPLES[row['samples']]}" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=6)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _cell(match: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What a cell says of a match, its colour, and whether the match is exact."""
    per_token = match["name"].startswith("token sum of ")
    name = match["name"].removeprefix("token sum of ")
    word, color = next(((word, color) for start, word, color in SHORT if name.startswith(start)), ("", ""))
    if not word:
        return ("none", theme.GREY, False)
    word = rf"$\Sigma_t$ {word}" if per_token else word
    if match["exact"] or word == "zero":
        return (word, color, True)
    if match["angle"] is not None:
        word += rf", ${match['angle']:.0f}^\circ$" if match["angle"] >= 1 else r", $<1^\circ$"
    return (rf"$\approx$ {word}", color, False)


def _draw_zones(axes: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    for place, row in enumerate(rows):
        for low, high in row["dead_zones"]:
            axes.barh(place, high - low, left=low, height=0.5, color=theme.VERMILLION)
        nan = [x for x in row["nan"].get("float32", []) if abs(x) <= 1000]
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
    title="What does your KL do?",
    caption=(
        "Each row is a published form of a KL term, on the samples that it is used with (pi: the policy, "
        "pi_ref: the reference, p_*: correct samples of the reference). The columns say what its value "
        "estimates, what its gradient descends for single answers and for token sequences (a sum over t is "
        "over next-token divergences), and, on correct samples, where the loss has its minimum. A filled "
        "cell is an exact match on every audited problem; an outlined cell names the nearest quantity, with "
        "the angle between the gradients. Then: the variance of the gradient from one sample over the "
        "squared length of its mean; and the log ratios, searched from -700 to 700, at which a sampled "
        "token gets no gradient, or nan in float32. All by listing every answer of small problems; nothing "
        "is sampled."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={"forms": None},
    quick={
        "forms": (
            ("k1", "policy"),
            ("k2", "policy"),
            ("k3", "policy"),
            ("corrected k3", "old_policy"),
            ("clamped k3", "policy"),
            ("forward KL, printed", "filtered"),
            ("forward KL, normalised", "filtered"),
        )
    },
    packages=("numpy", "scipy", "torch"),
)
