"""Theory against training: checks and predictions for trained language models, and what they learnt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Cell, Table

from ..figure import Figure, FigureConfig
from ..records import DemoDifference, Measure, Records, Statement
from ..style import seeds, theme
from ..style.seeds import Means, over_seeds

VERDICTS: dict[str, dict[str, Any]] = {
    "consistent": {"color": theme.BLUE, "marker": "o"},
    "not enough samples": {"color": theme.GREY, "marker": "D", "markerfacecolor": "white"},
    "inconsistent": {"color": theme.VERMILLION, "marker": "X", "markersize": 6},
}
EDGE = 4.0
"""Gaps beyond so many margins are drawn at the edge."""


@dataclass(frozen=True)
class TheoryAgainstTrainingPoint:
    """How far a measurement is from theory, in margins, and what that means."""

    margins: float
    verdict: str


@dataclass(frozen=True, kw_only=True)
class TheoryAgainstTrainingBlock:
    """Everything measured of one statement; `relations` are those of measurement to theory."""

    name: str
    theory: str
    relations: tuple[str, ...]
    points: tuple[TheoryAgainstTrainingPoint, ...]


@dataclass(frozen=True, kw_only=True)
class PassAtK:
    """Pass@k of a method, with intervals over seeds."""

    k: tuple[int, ...]
    means: Means


@dataclass(frozen=True, kw_only=True)
class TheoryAgainstTrainingNumbers:
    """What holds for every policy, what training could have missed, the differences, and Pass@k."""

    prompts: int
    checks: tuple[TheoryAgainstTrainingBlock, ...]
    predictions: tuple[TheoryAgainstTrainingBlock, ...]
    differences: tuple[DemoDifference, ...]
    methods: dict[str, PassAtK]


def compute(config: FigureConfig, records: Records) -> TheoryAgainstTrainingNumbers:
    """The gaps between measurement and theory in margins, statement by statement; Pass@k over seeds."""
    demo = records.demo
    return TheoryAgainstTrainingNumbers(
        prompts=demo.prompts,
        checks=_blocks(demo.checks),
        predictions=_blocks(demo.predictions),
        differences=demo.differences,
        methods={name: _passes(columns) for name, columns in demo.methods.items()},
    )


def _blocks(lines: Sequence[Statement]) -> tuple[TheoryAgainstTrainingBlock, ...]:
    found = []
    for name in dict.fromkeys(line.name for line in lines):
        of = [line for line in lines if line.name == name]
        found.append(
            TheoryAgainstTrainingBlock(
                name=name,
                theory=of[0].theory,
                relations=tuple(dict.fromkeys(line.relation for line in of)),
                points=tuple(TheoryAgainstTrainingPoint(_in_margins(line), line.verdict) for line in of),
            )
        )
    return tuple(found)


def _in_margins(line: Statement) -> float:
    gap = line.estimate - line.prediction
    if gap == 0 or np.isinf(line.margin):
        return 0.0
    return gap / line.margin if line.margin else float(np.copysign(2 * EDGE, gap))


def _passes(columns: Mapping[str, Measure]) -> PassAtK:
    """Pass@k with intervals over seeds, which the base, evaluated once, has not."""
    names = [name for name in columns if name.startswith("Pass@")]
    found = {int(name.removeprefix("Pass@")): columns[name].values for name in names}
    seeds = np.transpose([*found.values()])
    return PassAtK(k=tuple(found), means=over_seeds(seeds, probability_interval))


def table(results: TheoryAgainstTrainingNumbers) -> Table:
    """How many checks hold, how many predictions, how many of the expected differences were found."""
    rows: list[list[Cell]] = []
    panels = {
        "instrument checks, which hold for every policy": results.checks,
        "predictions, which training could have missed": results.predictions,
    }
    for words, blocks in panels.items():
        verdicts = [point.verdict for block in blocks for point in block.points]
        rows.append([words, *(verdicts.count(verdict) for verdict in VERDICTS)])
    expected = [gap for gap in results.differences if gap.expected]
    signs = [gap.expected * gap.found for gap in expected]
    rows.append(["differences that the literature reports", *(signs.count(sign) for sign in (1, 0, -1))])
    return Table.of(("statements", "consistent or found", "not enough samples", "inconsistent"), rows)


def draw(config: FigureConfig, results: TheoryAgainstTrainingNumbers) -> Drawing:
    """Left: the checks; in the middle the predictions; right: what was trained, as Pass@k."""
    drawing, (left, middle, right) = theme.new(height=4.0, ncols=3, width_ratios=(1.2, 1.2, 1))
    _gaps(left, results.checks, "checks")
    _gaps(middle, results.predictions, "predictions")
    base = results.methods["base"]
    for place, (name, found) in enumerate(results.methods.items()):
        seeds.curve(right, found.k, found.means.scaled(1, base.means.mean), name, beside=2.5 * (place - 2.5))
    right.set_xscale("log", base=2)
    right.set_xticks(base.k, [str(k) for k in base.k])
    right.margins(x=0.12)
    right.set(xlabel=r"$k$", ylabel=r"Pass@$k$ less the base's", title=f"{results.prompts} new prompts")
    drawn = {point.verdict for block in (*results.checks, *results.predictions) for point in block.points}
    for verdict, how in VERDICTS.items():
        if verdict in drawn:
            left.plot([], [], linestyle="none", label=verdict, **how)
    left.plot([], [], linestyle="none", marker=">", color=theme.GREY, label=f"beyond {EDGE:g}")
    seeds.legend(drawing, (left, middle, right), 4)
    return drawing


def _gaps(ax: Axes, blocks: Sequence[TheoryAgainstTrainingBlock], words: str) -> None:
    """A block a statement; in it a point for each run and set of prompts."""
    top, ticks = 0.0, []
    least = sum(len(block.points) for block in blocks) / 8
    for number, block in enumerate(blocks):
        height = max(len(block.points), least)
        ticks.append(top + height / 2)
        for row, point in enumerate(block.points):
            at = top + height * (row + 0.5) / len(block.points)
            how = {"markersize": 2.2, "markeredgewidth": 0.6} | VERDICTS[point.verdict]
            if abs(point.margins) > EDGE:
                how["marker"] = ">" if point.margins > 0 else "<"
            ax.plot(np.clip(point.margins, -EDGE, EDGE), at, linestyle="none", **how)
        ax.axhspan(top, top + height, color=theme.GREY, alpha=0.1 * (number % 2), linewidth=0)
        top += height
    ax.axvline(0, color=theme.BLACK, linewidth=0.7)
    for bound in (-1, 1):
        ax.axvline(bound, color=theme.BLACK, linewidth=0.5, linestyle=":")
    ax.set_yticks(ticks, [f"{block.name}\n${_sign(block)}$ ({block.theory})" for block in blocks])
    ax.set(ylim=(max(top, 1.0), 0), xlim=(-1.1 * EDGE, 1.1 * EDGE))
    ax.set_xlabel("measured minus theory,\nin margins of about 3 sd")
    held = [point.verdict == "consistent" for block in blocks for point in block.points]
    ax.set_title(f"{sum(held)} of {len(held)} {words} hold")


def _sign(block: TheoryAgainstTrainingBlock) -> str:
    signs = {">=": r"\geq 0", "==": "= 0"}
    return r"\,/\,".join(signs[relation] for relation in sorted(block.relations))


FIGURE = Figure(
    name="theory_against_training",
    title="Checks of the instrument hold; rehearsed mass ends above what is foreseen",
    caption=(
        "A tiny language model trained on a small text-to-SQL task by each method: statements that hold for "
        "every policy and so check the instrument (left), and numbers that training could have missed "
        "(middle). A point for every run and set of prompts is measured minus theory, in units of the margin "
        "within which sampling may move it (three standard deviations, wider for few prompts and for the "
        "worst of many): a statement >= 0 is violated left of -1, = 0 outside the dotted lines, and gaps of "
        "more than four margins are arrows at the edge. Right: Pass@k on held-out questions less that of the "
        "base, which is evaluated once; means over seeds with 95% intervals, set side by side."
    ),
    results=TheoryAgainstTrainingNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("demo",),
)
