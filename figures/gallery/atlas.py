"""The atlas: what each published method selects, and how near real trainings ended to what was foreseen."""

from dataclasses import dataclass
from statistics import fmean

from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from dph_theory.atlas.table import Row
from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import theme

COLORS = {
    "one answer": theme.VERMILLION,
    "base's proportions": theme.BLUE,
    "uniform": theme.GREEN,
    "uniform, token by token": theme.GREEN,
    "equal mean log pi of tokens": theme.GREEN,
    "locally filtered": theme.SKY,
    "token forward limit": theme.SKY,
    "per-answer-mean law": theme.SKY,
    "none of these": theme.GREY,
}
"""By what is kept: nothing but one answer, the base's proportions, evenness, or something in between."""
COLUMNS = (
    ("several lengths", 2.3),
    ("one decision", 1.7),
    ("drift", 0.7),
    ("way back", 1.5),
    ("rare", 0.65),
    ("long", 0.65),
    ("gap, Llama", 1.0),
)
"""Heads and widths."""
HEIGHT = 0.165
"""Of a row, in inches."""


@dataclass(frozen=True, kw_only=True)
class AtlasNumbers:
    """The rows, and by method the mean gap between its runs and what was foreseen."""

    rows: tuple[Row, ...]
    gaps: dict[str, float]


def compute(config: FigureConfig, records: Records) -> AtlasNumbers:
    """The stored cells and trainings."""
    stored = records.atlas
    return AtlasNumbers(rows=stored.rows, gaps={each.method: fmean(each.gaps) for each in stored.trained})


def table(results: AtlasNumbers) -> Table:
    """What is selected on several lengths, the drift, the way back, and the gap of the runs."""
    head = ("method", "selects", "drift", "way back", "gap of the runs")
    return Table.of(
        head,
        [
            (row.method, row.selects, row.drift, row.way_back, results.gaps.get(row.method))
            for row in results.rows
        ],
    )


def _words(row: Row, gaps: dict[str, float]) -> tuple[str, ...]:
    def short(value: float | None, form: str = ".2g") -> str:
        return "–" if value is None else "0" if abs(value) < 1e-3 else format(value, form)

    gap = gaps.get(row.method)
    numbers = (short(row.drift), row.way_back, short(row.rare), short(row.long))
    return (row.selects, row.selects_single, *numbers, "–" if gap is None else f"{gap:.2f}")


def draw(config: FigureConfig, results: AtlasNumbers) -> Drawing:
    """A line a method; the cells of what is selected are coloured by what is kept."""
    count = len(results.rows)
    drawing, axes = theme.new(height=HEIGHT * (count + 4))
    starts = [0.0]
    for _, width in COLUMNS:
        starts.append(starts[-1] + width)
    for line, row in enumerate(results.rows):
        for column, words in enumerate(_words(row, results.gaps)):
            left, width = starts[column], COLUMNS[column][1]
            if column < 2:
                axes.add_patch(
                    Rectangle((left, line - 0.5), width, 1, color=COLORS[words], alpha=0.3, linewidth=0)
                )
            axes.text(left + 0.04, line, words, va="center", fontsize=theme.points(5.5))
    axes.set_xlim(0, starts[-1])
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_xticks(starts[:-1], [name for name, _ in COLUMNS], ha="left", fontsize=theme.points(6.5))
    axes.set_yticks(range(count), [row.method for row in results.rows], fontsize=theme.points(5.5))
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("what is left of the right answers, and how", fontsize=theme.points(7))
    axes.set_ylabel("method", fontsize=theme.points(7))
    return drawing


FIGURE = Figure(
    name="atlas",
    title="Most published methods keep one right answer alone, few the base's proportions",
    caption=(
        "Each method's end on two small problems, its coefficient near zero if it has one: the right answers "
        "that are left are one alone (red), in the base's proportions (blue), even (green), or in between "
        "(sky); computed from the method's formula, none typed. Drift is that of equal right answers over "
        "chains at matched speed, relative to GRPO's; way back is how an answer that is nearly lost returns, "
        "and whether from batches without it; rare and long are the share of the rarest and of the longer "
        "right answers at the end, relative to the base's. The last column is the mean total variation "
        "between the right answers' shares after a training of a small Llama under TRL, three seeds, and "
        "those of its noiseless twin, written down before."
    ),
    results=AtlasNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("atlas",),
)
