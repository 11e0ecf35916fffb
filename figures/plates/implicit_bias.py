"""What the gradient selects among valid outcomes: the plain one the richest, the natural one p_* (A2, A3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from dph_theory import filtered, tilted, valid_mass
from dph_theory.flows import integrate, orbit, plain_gradient, softmax, uniform_on_likeliest

from ..figure import Figure
from ..look import theme
from ..results.experiments import Record

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the simplex has its corners: two valid outcomes below, the invalid one on top."""
ROUNDING = 1e-12
"""Below this, what a machine says of a difference is its own."""
KINDS = {"plain": "-", "natural": "--"}
"""The flows, and the lines that they are drawn with."""


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """Both flows as curves in the simplex of three outcomes, and against time from a base of four."""
    bases, valid = np.asarray(config["bases"]), np.asarray(config["valid"], dtype=bool)
    left = np.geomspace(1.0, config["least_left"], config["points"])
    gains = np.linspace(config["least_gain"], config["most_gain"], config["points"])
    plain = orbit(bases[:, None, :], np.broadcast_to(valid, (len(bases), 1, 3)), left)
    natural = tilted(bases[:, None, :], valid, 1 / gains)
    return {
        "simplex": [
            {"base": b.tolist(), "plain": p.T.tolist(), "natural": n.T.tolist(), "filtered": f.tolist()}
            for b, p, n, f in zip(bases, plain, natural, filtered(bases, valid), strict=True)
        ],
        "in_time": _in_time(config),
    }


def _in_time(config: Mapping[str, Any]) -> dict[str, Any]:
    """Failure rates, and shares within the valid outcomes, along both flows."""
    base, valid = np.asarray(config["long_base"]), np.asarray(config["long_valid"], dtype=bool)
    start, end = config["times"]
    times = np.geomspace(start, end, config["points"])
    many, marks = (np.broadcast_to(row, (len(times), row.size)) for row in (base, valid))
    flows = {
        "plain": softmax(integrate(plain_gradient, many, marks, times, steps=config["steps"])),
        # The natural gradient's policy at time t is the tilted model at beta = 1/t (theory A3).
        "natural": tilted(base, valid, 1 / times),
    }
    return {
        "times": times.tolist(),
        "base": base.tolist(),
        "valid": valid.tolist(),
        "limit": uniform_on_likeliest(base[None], valid[None])[0].tolist(),
        **{
            name: {
                # Summed on its own: 1 - q(Y1) would lose its digits.
                "failure": valid_mass(policy, ~valid).tolist(),
                "shares": filtered(policy, valid)[:, valid].T.tolist(),
            }
            for name, policy in flows.items()
        },
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where both flows have come to at the last time."""
    flows = results["in_time"]
    plain, natural = (np.array(flows[name]["shares"]) for name in KINDS)
    moved = max(np.ptp(natural, axis=1).max(), ROUNDING)
    return [
        f"At time {flows['times'][-1]:g} the plain gradient's failure rate is "
        f"{flows['plain']['failure'][-1]:.2g}, and the likeliest valid answer's share of the valid mass has "
        f"grown from {plain[:, 0].max():.0%} to {plain[:, -1].max():.0%}; the natural gradient moves no "
        f"share by more than {moved:.1g}."
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """The simplex, then shares and failure rates against time."""
    results = record["results"]
    drawing, (left, middle, right) = theme.new(ncols=3, width_ratios=(1.15, 1, 1))
    _draw_simplex(left, results["simplex"])
    flows = results["in_time"]
    shades = (theme.BLUE, theme.GREEN, theme.ORANGE)
    for kind, line in KINDS.items():
        shares = flows[kind]["shares"]
        for index, (share, shade) in enumerate(zip(shares, shades, strict=False)):
            middle.plot(flows["times"], share, line, color=shade)
            if kind == "plain":
                middle.annotate(
                    rf"$y_{index + 1}$",
                    (flows["times"][0], share[0]),
                    xytext=(2, 3),
                    textcoords="offset points",
                    color=shade,
                )
        color = theme.VERMILLION if kind == "plain" else theme.BLACK
        right.plot(flows["times"], flows[kind]["failure"], line, color=color, label=kind)
    middle.set(xscale="log", xlabel="time $t$", ylabel=r"share of valid mass $q(y\,|\,Y_1)$")
    middle.set(ylim=(0, 1), title="Shares of the valid answers")
    middle.legend(handles=[Line2D([], [], ls=ls, color=theme.BLACK, label=n) for n, ls in KINDS.items()])
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel=r"failure rate $1 - q(Y_1)$")
    right.set(ylim=(1e-6, 1.3), title="Failure rates")
    right.legend(loc="lower left")
    return drawing


def _draw_simplex(axes: Axes, flows: list[Mapping[str, Any]]) -> None:
    axes.fill(*CORNERS.T, facecolor="none", edgecolor=theme.GREY, linewidth=0.8)
    for index, flow in enumerate(flows):
        plain, natural = (np.array(flow[kind]).T @ CORNERS for kind in KINDS)
        first = index == 0
        axes.plot(*plain.T, color=theme.VERMILLION, label="plain gradient" if first else None)
        axes.plot(*natural.T, "--", color=theme.BLACK, label="natural gradient" if first else None)
        axes.plot(
            *np.array(flow["base"]) @ CORNERS, "o", color=theme.GREY, label="base $a$" if first else None
        )
        target = np.array(flow["filtered"]) @ CORNERS
        axes.plot(*target, "D", color=theme.BLACK, label="filtered $p_*$" if first else None, clip_on=False)
    words = (("$y_1$ valid", -0.06), ("$y_2$ valid", -0.06), ("invalid", 0.02))
    for corner, (name, drop) in zip(CORNERS, words, strict=True):
        axes.text(corner[0], corner[1] + drop, name, ha="center", va="top" if drop < 0 else "bottom")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(loc="upper left", bbox_to_anchor=(-0.3, 1.05), handlelength=1.6)


FIGURE = Figure(
    name="implicit_bias",
    title="Which valid answers survive depends on the gradient",
    caption=(
        "Policy gradient without a KL term, from several base models. The plain gradient is that of the "
        "logits; the natural one also divides by the Fisher information. Left: policies over two valid "
        "(correct) answers and an invalid one, as points of a triangle. The plain gradient runs into the "
        "corner of the likelier valid answer, or to the middle if both are equally likely (A2); the natural "
        "gradient ends at the filtered model p_*, the base restricted to its valid answers (A3). Middle: "
        "from a base with three valid answers, the share of the valid mass that each has. Right: the "
        "failure rates of the same two runs. The left panel is exact; in the others the plain gradient's "
        "flow is integrated numerically (Runge-Kutta)."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    config={
        "bases": (
            (0.06, 0.04, 0.9),
            (0.12, 0.12, 0.76),
            (0.1, 0.3, 0.6),
            (0.4, 0.1, 0.5),
            (0.03, 0.12, 0.85),
        ),
        "valid": (1, 1, 0),
        "least_left": 1e-5,
        "least_gain": 1e-6,
        "most_gain": 14.0,
        "long_base": (0.3, 0.2, 0.1, 0.4),
        "long_valid": (1, 1, 1, 0),
        "times": (0.1, 1000.0),
        "points": 120,
        "steps": 4000,
    },
    quick={"points": 16, "steps": 1000},
)
