"""Which valid answers survive depends on the gradient.

Policy gradient without a KL term from several base models, for a single decision, by the plain gradient of
the logits and by the natural gradient, which also divides by the Fisher information. Left: policies over two
valid (correct) answers and an invalid one, as points of a triangle; the plain gradient runs into the corner
of the likelier valid answer, or to the middle if both are equally likely, and the natural gradient converges
to the filtered model p_*. Right: shares of three valid answers; the plain flow is integrated numerically
(Runge-Kutta), all else is exact. On answers of several tokens the plain gradient can have other limits.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dph_theory import filtered, pass_rate, tilted
from dph_theory.finite_training.decision import integrate, orbit, plain_gradient, softmax
from dph_theory.support.table import Table

from ..frames import Records
from ..style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILLION, Sheet

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Corners of the simplex: two valid outcomes below, the invalid one on top."""
BASES = np.array(
    [[0.06, 0.04, 0.9], [0.12, 0.12, 0.76], [0.1, 0.3, 0.6], [0.4, 0.1, 0.5], [0.03, 0.12, 0.85]]
)
LONG, LONG_VALID = np.array([0.3, 0.2, 0.1, 0.4]), np.array([True, True, True, False])
TIMES = np.geomspace(0.1, 1000.0, 120)
LINES = {"plain": "-", "natural": "--"}  # Line styles of the two flows.


def numbers(records: Records) -> dict[str, Any]:
    """Both flows as curves in the simplex of three outcomes, and against time from a base of four."""
    valid = np.array([True, True, False])
    left, gains = np.geomspace(1.0, 1e-5, 120), np.linspace(1e-6, 14.0, 120)
    many, flags = (np.broadcast_to(row, (TIMES.size, row.size)) for row in (LONG, LONG_VALID))
    # The natural gradient's policy at time t is the tilted model at beta = 1/t (entries `implicit_bias`).
    long = {
        "plain": softmax(integrate(plain_gradient, many, flags, TIMES, steps=4000)),
        "natural": tilted(LONG, LONG_VALID, 1 / TIMES),
    }
    return {
        "plain": orbit(BASES[:, None, :], np.broadcast_to(valid, (len(BASES), 1, 3)), left),
        "natural": tilted(BASES[:, None, :], valid, 1 / gains),
        "filtered": filtered(BASES, valid),
        "shares": {name: filtered(q, LONG_VALID)[:, LONG_VALID].T for name, q in long.items()},
        # Summed separately: 1 - q(Y1) would lose its digits.
        "failure": {name: pass_rate(q, ~LONG_VALID) for name, q in long.items()},
    }


def draw(sheet: Sheet, numbers: dict[str, Any]) -> None:
    """The simplex; beside it the shares of three valid answers against time."""
    left, right = sheet.panels(2, height=2.6)
    _simplex(left, numbers)
    for kind, shares in numbers["shares"].items():
        for index, (share, shade) in enumerate(zip(shares, (BLUE, GREEN, ORANGE), strict=True)):
            right.plot(TIMES, share, LINES[kind], color=shade)
            if kind == "plain":
                style = {"textcoords": "offset points", "color": shade}
                right.annotate(rf"$y_{index + 1}$", (TIMES[0], share[0]), (2, 3), **style)
    right.set(xscale="log", xlabel="time $t$", ylabel="share among correct answers", ylim=(0, 1))
    right.set_title("Three correct answers")
    handles = [Line2D([], [], ls=ls, color=BLACK, label=f"{n} gradient") for n, ls in LINES.items()]
    right.legend(handles=handles)


def _simplex(axes: Axes, numbers: dict[str, Any]) -> None:
    axes.fill(*CORNERS.T, facecolor="none", edgecolor=GREY, linewidth=0.8)
    explained = ("plain gradient", "natural gradient", "base $a$", "filtered $p_*$")
    for index, base in enumerate(BASES):
        words = (None,) * 4 if index else explained
        axes.plot(*(numbers["plain"][index] @ CORNERS).T, color=VERMILLION, label=words[0])
        axes.plot(*(numbers["natural"][index] @ CORNERS).T, "--", color=BLACK, label=words[1])
        axes.plot(*base @ CORNERS, "o", color=GREY, label=words[2])
        axes.plot(*numbers["filtered"][index] @ CORNERS, "D", color=BLACK, label=words[3], clip_on=False)
    places = (("$y_1$ valid", -0.06), ("$y_2$ valid", -0.06), ("invalid", 0.02))
    for corner, (name, drop) in zip(CORNERS, places, strict=True):
        axes.text(corner[0], corner[1] + drop, name, ha="center", va="top" if drop < 0 else "bottom")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(loc="upper left", bbox_to_anchor=(-0.45, 1.05), handlelength=1.6)


def table(numbers: dict[str, Any]) -> Table:
    """Policies of both flows at the last time, from the base with three valid answers."""
    head = ("gradient", "time", "failure rate", "share of the likeliest valid answer", "at the start")
    likeliest = LONG[LONG_VALID].argmax()
    rows = [
        (name, TIMES[-1], numbers["failure"][name][-1], *shares[likeliest, [-1, 0]])
        for name, shares in numbers["shares"].items()
    ]
    return Table.from_rows(head, [(name, *map(float, row)) for name, *row in rows])


def claim(numbers: dict[str, Any]) -> bool:
    """The plain gradient leaves one answer; the natural one preserves the base's shares."""
    plain, natural = numbers["shares"]["plain"], numbers["shares"]["natural"]
    return bool(plain[:, -1].max() > 0.9 and np.allclose(natural[:, -1], natural[:, 0]))
