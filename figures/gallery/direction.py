"""Which method keeps Pass@k where prompts share strategies: a real Llama, methods paired by seed (B9, D3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.intervals import Estimate, mean_interval
from dph_theory.support.table import Cell, Table

from ..figure import Figure, FigureConfig
from ..records import LawRun, Records
from ..style import theme

EXPERIMENT = "direction"
DPH = {
    "log_u": ("DPH-F", FORWARD_KL.curvature),
    "js": ("DPH-JS", JENSEN_SHANNON.curvature),
    "alpha": ("DPH-alpha", alpha_divergence(0.2).curvature),
}
"""What is rehearsed: the method's name, and f''(1)."""
FORMS = {"none": "DAPO", "k3": "RKL", "k3_corrected": "reverse KL"}
MEASURES = {"validity": "Pass@1", "pass_at_16": "Pass@16"}
BASELINE = "DAPO"


@dataclass(frozen=True, kw_only=True)
class DirectionConfig(FigureConfig):
    """The level of the paired intervals."""

    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class DirectionDifference:
    """A method's mean over seeds, less another's of the same seeds, with a paired t interval."""

    measure: str
    mean: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class DirectionRow:
    """A method at a strength eta f''(1) (None: it has no such term): its measures against the baseline's.

    `above`: the methods of the same strength, and those of none, whose Pass@16 is told to be lower.
    """

    method: str
    strength: float | None = None
    seeds: int
    against: tuple[DirectionDifference, ...]
    above: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class DirectionNumbers:
    """A row for each method and strength."""

    rows: tuple[DirectionRow, ...]


Key = tuple[str, float | None]


def compute(config: DirectionConfig, records: Records) -> DirectionNumbers:
    """Every method against the baseline, and which pairs the seeds tell apart."""
    baseline = {run.seed: run for run in records.laws.of(EXPERIMENT, form="none", dapo=True)}
    groups: dict[Key, dict[int, LawRun]] = {}
    for run in records.laws.of(EXPERIMENT):
        groups.setdefault(_key(run), {})[run.seed] = run
    rows = []
    for key, runs in groups.items():
        against = tuple(_difference(runs, baseline, measure, config.level) for measure in MEASURES)
        rivals = {name: of for (name, strength), of in groups.items() if strength in (None, key[1])}
        lower = [
            name for name, of in rivals.items() if _difference(runs, of, "pass_at_16", config.level).low > 0
        ]
        rows.append(
            DirectionRow(method=key[0], strength=key[1], seeds=len(runs), against=against, above=tuple(lower))
        )
    return DirectionNumbers(rows=tuple(rows))


def _key(run: LawRun) -> Key:
    if run.rehearsed is not None:
        name, curvature = DPH[run.rehearsed]
        return name, round(run.beta * curvature, 6)
    if not run.dapo:
        return "GRPO", None
    return FORMS[run.form], run.beta or None


def _difference(
    runs: dict[int, LawRun], others: dict[int, LawRun], measure: str, level: float
) -> DirectionDifference:
    """Of the seeds that both have; one seed tells nothing, and the interval is the whole line."""
    seeds = sorted(runs.keys() & others.keys())
    ours, theirs = (np.array([getattr(of[seed], measure) for seed in seeds]) for of in (runs, others))
    mean, low, high = map(float, mean_interval(ours - theirs, confidence=level))
    return DirectionDifference(measure=measure, mean=float(ours.mean()), difference=mean, low=low, high=high)


def table(results: DirectionNumbers) -> Table:
    """The measures with their differences from the baseline, and what the seeds tell apart."""
    head = ["method", "eta f''(1)", "seeds"]
    for words in MEASURES.values():
        head += [words, f"{words} less {BASELINE}'s"]
    rows: list[list[Cell]] = [
        [
            row.method,
            row.strength,
            float(row.seeds),
            *(cell for d in row.against for cell in (d.mean, Estimate(d.difference, d.low, d.high))),
            ", ".join(row.above) or "none",
        ]
        for row in results.rows
    ]
    return Table.of((*head, "Pass@16 above that of"), rows)


def draw(config: DirectionConfig, results: DirectionNumbers) -> Drawing:
    """The differences from the baseline with their intervals, a line a method."""
    drawing, axes = theme.new(height=2.7, ncols=2, sharey=True)
    rows = [row for row in results.rows if row.method != BASELINE]
    names = list(dict.fromkeys(row.method for row in rows))
    strengths = sorted({row.strength for row in rows if row.strength is not None})
    for place, (panel, words, title) in enumerate(
        zip(axes, MEASURES.values(), ("Cost", "Gain"), strict=True)
    ):
        _panel(panel, rows, names, strengths, place)
        panel.set(title=f"{title} in {words}", xlabel=f"{words} less {BASELINE}'s")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    drawing.legend(
        handles=[
            Line2D(
                [], [], color=theme.GREY, marker="o", markerfacecolor=face, label=rf"$\eta f''(1) = {s:g}$"
            )
            for s, face in ((s, _face(theme.GREY, s, strengths)) for s in strengths)
        ],
        loc="outside lower center",
        ncols=2,
    )
    return drawing


def _face(color: str, strength: float | None, strengths: Sequence[float]) -> str:
    """Open at the weakest strength."""
    return "white" if strength is not None and strength == strengths[0] else color


def _panel(
    panel: Axes, rows: Sequence[DirectionRow], names: Sequence[str], strengths: Sequence[float], place: int
) -> None:
    panel.axvline(0, color=theme.GREY, linewidth=0.8, linestyle=":")
    for row in rows:
        found = row.against[place]
        how = theme.METHODS.get(row.method, {"color": theme.BLACK, "marker": "*"})
        shift = (
            0.0 if row.strength is None else 0.3 * (strengths.index(row.strength) - (len(strengths) - 1) / 2)
        )
        panel.errorbar(
            found.difference,
            names.index(row.method) + shift,
            xerr=0.0 if not np.isfinite(found.high) else found.high - found.difference,
            color=how["color"],
            marker=how["marker"],
            markerfacecolor=_face(how["color"], row.strength, strengths),
            linewidth=1,
        )


FIGURE = Figure(
    name="direction",
    title="Every strong anchor buys Pass@16 with Pass@1; of the weak ones RKL and DPH-F do",
    caption=(
        "A small Llama on ten prompts with one text, of three types, each solved by its own strategy alone "
        "(D3); every answer is enumerated. The methods share the exploration of DAPO, but for GRPO, and the "
        "strength eta f''(1) of their divergence (B9). Points: exact Pass@1 and Pass@16 at the end less "
        "those of DAPO with the same seed, means with paired 95% t intervals over the seeds."
    ),
    results=DirectionNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=DirectionConfig(),
    needs=("laws",),
)
