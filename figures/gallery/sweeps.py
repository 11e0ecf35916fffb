"""What the strength of an anchor, its divergence and its place are worth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Table
from toy_lm.strategies.results import directions
from toy_lm.styles.results import End
from toy_lm.styles.results import StylesResults as Tiny

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

PLACES = ("D_pef", "all prompts")
TINY_PLACES = {"rehearsed": "D_pef", "all": "all prompts"}
TINY_NAMES = {"DPH-F": "forward KL", "DPH-JS": "JS", "DPH-alpha": "alpha", "reverse": "reverse KL"}
K = 16


@dataclass(frozen=True, kw_only=True)
class SweepsScore:
    """Pass@1 and Pass@K."""

    pass_at_1: float
    pass_at_k: float


@dataclass(frozen=True, kw_only=True)
class Anchored(SweepsScore):
    """The end of a training with an anchor: a divergence, at a place, of this strength."""

    place: str
    divergence: str
    strength: float


@dataclass(frozen=True, kw_only=True)
class SweepsModel:
    """A model: its base, the end of its training without an anchor, and those with anchors."""

    base: SweepsScore
    none: SweepsScore
    points: tuple[Anchored, ...]


@dataclass(frozen=True, kw_only=True)
class SweepsNumbers:
    """Both models."""

    strategies: SweepsModel
    styles: SweepsModel


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What the choice of divergence changes at most, and that of the place on average.

    spread: the largest difference of Pass@16 between divergences on D_pef. gain_1 and gain_k: the mean
    change of Pass@1 and Pass@16 from D_pef to all prompts.
    """

    spread: float
    gain_1: float
    gain_k: float


def compute(config: FigureConfig, records: Records) -> SweepsNumbers:
    """Points (Pass@1, Pass@16) by place, divergence and strength, in both models."""
    run, exact = records.strategies
    free = exact.method("GRPO")
    return SweepsNumbers(
        strategies=SweepsModel(
            base=SweepsScore(pass_at_1=exact.base.pass_at_1, pass_at_k=exact.base.pass_at_k),
            none=SweepsScore(pass_at_1=free.pass_at_1, pass_at_k=free.pass_at_k),
            points=tuple(
                Anchored(
                    place=row.place,
                    divergence=name,
                    strength=row.strength,
                    pass_at_1=row.pass_at_1[name],
                    pass_at_k=row.pass_at_k[name],
                )
                for row in directions(run, exact.sweep)
                for name in row.pass_at_1
            ),
        ),
        styles=_tiny(records.styles),
    )


def _tiny(results: Tiny) -> SweepsModel:
    """The tiny transformer's points from its first base, where all strengths and places were tried."""
    first = results.bases[0]
    runs = [run for run in results.runs if run.seed == first.seed and set(run.groups) != {"long"}]
    strengths = [(run.strength, run) for run in runs if run.name in TINY_NAMES and run.strength is not None]
    free = next(run for run in results.of_group("main") if run.name == "DAPO")

    def measured(end: End) -> SweepsScore:
        return SweepsScore(pass_at_1=results.pass_at(end, 1), pass_at_k=results.pass_at(end, K))

    return SweepsModel(
        base=measured(first.train),
        none=measured(free.train),
        points=tuple(
            Anchored(
                place=TINY_PLACES[run.place],
                divergence=TINY_NAMES[run.name],
                strength=strength,
                **vars(measured(run.train)),
            )
            for strength, run in sorted(strengths, key=lambda pair: pair[0])
        ),
    )


def worth(points: Sequence[Anchored], strength: float) -> Worth | None:
    """What either choice is worth at a strength; None if it was not tried at both places."""
    here, everywhere = (
        {
            p.divergence: (p.pass_at_1, p.pass_at_k)
            for p in points
            if (p.place, p.strength) == (place, strength)
        }
        for place in PLACES
    )
    both = [name for name in here if name in everywhere]
    if not both:
        return None
    ours, theirs = (np.array([at[name] for name in both]) for at in (here, everywhere))
    gain = (theirs - ours).mean(axis=0)
    return Worth(spread=float(np.ptp(ours[:, 1])), gain_1=float(gain[0]), gain_k=float(gain[1]))


def _worths(model: SweepsModel) -> dict[float, Worth]:
    """By strength, where both places were tried."""
    strengths = sorted({point.strength for point in model.points})
    return {s: found for s in strengths if (found := worth(model.points, s)) is not None}


def table(results: SweepsNumbers) -> Table:
    """Place against divergence, by strength."""
    models = {"strategies": results.strategies, "tiny transformer, one seed": results.styles}
    changes = (f"Pass@{K}: divergence, at most", f"Pass@{K}: all prompts", "Pass@1: all prompts")
    rows = [
        (name, f"{strength:g}", found.spread, found.gain_k, found.gain_1)
        for name, model in models.items()
        for strength, found in _worths(model).items()
    ]
    return Table.of(("model", "strength", *changes), rows)


def draw(config: FigureConfig, results: SweepsNumbers) -> Drawing:
    """Strategies: Pass@16 above Pass@1, a column a place, a line a divergence."""
    exact = results.strategies
    drawing, axes = theme.new(height=3.9, nrows=2, ncols=2, sharex=True, sharey="row")
    for column, place, words in zip(
        axes.T, PLACES, ("the prompts that the base solves", PLACES[1]), strict=True
    ):
        points = [point for point in exact.points if point.place == place]
        for ax, measure in zip(column, ("pass_at_k", "pass_at_1"), strict=True):
            for name in dict.fromkeys(point.divergence for point in points):
                of = [point for point in points if point.divergence == name]
                found = Means(np.array([getattr(point, measure) for point in of]))
                seeds.curve(ax, [point.strength for point in of], found, name)
            theme.level(ax, getattr(exact.base, measure), label="base")
            theme.level(ax, getattr(exact.none, measure), label="no anchor", linestyle=(0, (5, 2)))
        column[0].set_title(f"Anchor on {words}")
        column[1].set(xscale="log", xlabel=r"strength $\eta f''(1)$ of the anchor")
    for ax, words in zip(axes[:, 0], (f"Pass@{K}", "Pass@1"), strict=True):
        ax.set_ylabel(words)
    seeds.legend(drawing, axes.flat, 6)
    return drawing


FIGURE = Figure(
    name="sweeps",
    title="Divergences differ where the anchor is weak; a strong one on all prompts costs Pass@1",
    caption=(
        "An anchor is a divergence from the base, added to the loss with weight eta; its strength is eta "
        "f''(1). Strategies that prompt types share, exact: Pass@16 and Pass@1 after training along the "
        "strength of the anchor, which stands on D_pef, the prompts that the base solves (left), or on all "
        "prompts (right); the alpha-divergence has alpha = 0.5. The table also has the tiny transformer, "
        "trained from one base at two strengths with alpha = 0.2, so that its differences carry the noise of "
        "one seed."
    ),
    results=SweepsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("strategies", "styles"),
)
