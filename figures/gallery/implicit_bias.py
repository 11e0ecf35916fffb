"""Where policy gradient ends: the plain one at the likeliest valid answer, the natural one at p_* (A2-A3)."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from dph_theory import filtered, tilted, valid_mass
from dph_theory.dynamics.decision import integrate, orbit, plain_gradient, softmax
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, Records
from ..style import theme

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the simplex has its corners: two valid outcomes below, the invalid one on top."""
LINES = {"plain": "-", "natural": "--"}
"""How the two flows are drawn."""


@dataclass(frozen=True, kw_only=True)
class ImplicitBiasConfig(FigureConfig):
    """The bases over three outcomes and how far their curves go; the base over four, and its times."""

    bases: tuple[tuple[float, float, float], ...] = (
        (0.06, 0.04, 0.9),
        (0.12, 0.12, 0.76),
        (0.1, 0.3, 0.6),
        (0.4, 0.1, 0.5),
        (0.03, 0.12, 0.85),
    )
    valid: tuple[bool, ...] = (True, True, False)
    least_left: float = 1e-5
    least_gain: float = 1e-6
    most_gain: float = 14.0
    long_base: tuple[float, ...] = (0.3, 0.2, 0.1, 0.4)
    long_valid: tuple[bool, ...] = (True, True, True, False)
    times: tuple[float, float] = (0.1, 1000.0)
    points: int = 120
    steps: int = 4000


@dataclass(frozen=True, kw_only=True)
class ImplicitBiasCurves:
    """From one base: the policies along both flows, (points, outcomes), and the filtered model."""

    base: Array
    plain: Array
    natural: Array
    filtered: Array


@dataclass(frozen=True, kw_only=True)
class ImplicitBiasCourse:
    """Along a flow in time: the failure rate, and the shares of the valid mass, (valid outcomes, times)."""

    failure: Array
    shares: Array


@dataclass(frozen=True, kw_only=True)
class ImplicitBiasNumbers:
    """The curves in the simplex, and both flows from the long base along times."""

    simplex: tuple[ImplicitBiasCurves, ...]
    times: Array
    plain: ImplicitBiasCourse
    natural: ImplicitBiasCourse

    @property
    def flows(self) -> dict[str, ImplicitBiasCourse]:
        """Both flows by name."""
        return {"plain": self.plain, "natural": self.natural}


def compute(config: ImplicitBiasConfig, records: Records) -> ImplicitBiasNumbers:
    """Both flows as curves in the simplex of three outcomes, and against time from a base of four."""
    bases, valid = np.array(config.bases), np.array(config.valid)
    left = np.geomspace(1.0, config.least_left, config.points)
    gains = np.linspace(config.least_gain, config.most_gain, config.points)
    plain = orbit(bases[:, None, :], np.broadcast_to(valid, (len(bases), 1, 3)), left)
    natural = tilted(bases[:, None, :], valid, 1 / gains)
    ends = filtered(bases, valid)
    base, marks = np.array(config.long_base), np.array(config.long_valid)
    times = np.geomspace(*config.times, config.points)
    many, flags = (np.broadcast_to(row, (len(times), row.size)) for row in (base, marks))
    return ImplicitBiasNumbers(
        simplex=tuple(
            ImplicitBiasCurves(base=b, plain=p, natural=n, filtered=f)
            for b, p, n, f in zip(bases, plain, natural, ends, strict=True)
        ),
        times=times,
        plain=_course(softmax(integrate(plain_gradient, many, flags, times, steps=config.steps)), marks),
        # The natural gradient's policy at time t is the tilted model at beta = 1/t (theory A3).
        natural=_course(tilted(base, marks, 1 / times), marks),
    )


def _course(policy: np.ndarray, valid: np.ndarray) -> ImplicitBiasCourse:
    # The failure rate is summed on its own: 1 - q(Y1) would lose its digits.
    return ImplicitBiasCourse(failure=valid_mass(policy, ~valid), shares=filtered(policy, valid)[:, valid].T)


def table(results: ImplicitBiasNumbers) -> Table:
    """Where both flows have come to at the last time, from the base with three valid answers."""
    head = ("gradient", "time", "failure rate", "share of the likeliest valid answer", "at the start")
    rows = []
    for name, flow in results.flows.items():
        likeliest = flow.shares[flow.shares[:, 0].argmax()]
        rows.append((name, results.times[-1], flow.failure[-1], likeliest[-1], likeliest[0]))
    return Table.of(head, rows)


def draw(config: ImplicitBiasConfig, results: ImplicitBiasNumbers) -> Drawing:
    """The simplex, then shares and failure rates against time."""
    drawing, (left, middle, right) = theme.new(ncols=3, width_ratios=(1.15, 1, 1))
    _draw_simplex(left, results.simplex)
    shades = (theme.BLUE, theme.GREEN, theme.ORANGE)
    for kind, flow in results.flows.items():
        for index, (share, shade) in enumerate(zip(flow.shares, shades, strict=False)):
            middle.plot(results.times, share, LINES[kind], color=shade)
            if kind == "plain":
                start = (results.times[0], share[0])
                words = rf"$y_{index + 1}$"
                middle.annotate(words, start, xytext=(2, 3), textcoords="offset points", color=shade)
        color = theme.VERMILLION if kind == "plain" else theme.BLACK
        right.plot(results.times, flow.failure, LINES[kind], color=color, label=kind)
    middle.set(xscale="log", xlabel="time $t$", ylabel=r"share of valid mass $q(y\,|\,Y_1)$")
    middle.set(ylim=(0, 1), title="Shares of the valid answers")
    middle.legend(handles=[Line2D([], [], ls=ls, color=theme.BLACK, label=n) for n, ls in LINES.items()])
    right.set(xscale="log", yscale="log", xlabel="time $t$", ylabel=r"failure rate $1 - q(Y_1)$")
    right.set(ylim=(1e-6, 1.3), title="Failure rates")
    right.legend(loc="lower left", handlelength=1.6)
    return drawing


def _draw_simplex(axes: Axes, flows: tuple[ImplicitBiasCurves, ...]) -> None:
    axes.fill(*CORNERS.T, facecolor="none", edgecolor=theme.GREY, linewidth=0.8)
    for index, flow in enumerate(flows):
        # Each is explained once.
        words = ("plain gradient", "natural gradient", "base $a$", "filtered $p_*$")
        plain, natural, base, target = words if index == 0 else (None,) * 4
        axes.plot(*(flow.plain @ CORNERS).T, color=theme.VERMILLION, label=plain)
        axes.plot(*(flow.natural @ CORNERS).T, "--", color=theme.BLACK, label=natural)
        axes.plot(*flow.base @ CORNERS, "o", color=theme.GREY, label=base)
        axes.plot(*flow.filtered @ CORNERS, "D", color=theme.BLACK, label=target, clip_on=False)
    places = (("$y_1$ valid", -0.06), ("$y_2$ valid", -0.06), ("invalid", 0.02))
    for corner, (name, drop) in zip(CORNERS, places, strict=True):
        axes.text(corner[0], corner[1] + drop, name, ha="center", va="top" if drop < 0 else "bottom")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.legend(loc="upper left", bbox_to_anchor=(-0.3, 1.05), handlelength=1.6)


FIGURE = Figure(
    name="implicit_bias",
    title="Which valid answers survive depends on the gradient",
    caption=(
        "Policy gradient without a KL term from several base models, by the plain gradient of the logits and "
        "by the natural gradient, which also divides by the Fisher information. Left: policies over two "
        "valid (correct) answers and an invalid one, as points of a triangle; the plain gradient runs into "
        "the corner of the likelier valid answer, or to the middle if both are equally likely (A2), and the "
        "natural gradient ends at the filtered model p_*, the base restricted to its valid answers (A3). "
        "Middle and right: from a base with three valid answers, each one's share of the valid mass and the "
        "failure rate; there the plain gradient's flow is integrated numerically (Runge-Kutta), all else is "
        "exact."
    ),
    results=ImplicitBiasNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=ImplicitBiasConfig(),
    quick=ImplicitBiasConfig(points=16, steps=1000),
)
