"""Sweeps of strength and alpha, and what the place of an anchor is worth against its divergence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Table
from toy_lm.strategies.results import by_alpha, directions
from toy_lm.styles.results import End
from toy_lm.styles.results import StylesResults as Tiny

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme

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
class AlongAlpha:
    """Pass@K along the alpha-divergences on D_pef, at one strength."""

    strength: float
    alpha: tuple[float, ...]
    pass_at_k: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SweepsModel:
    """A model: its base, the end of its training without an anchor, and those with anchors."""

    base: SweepsScore
    none: SweepsScore
    points: tuple[Anchored, ...]
    alpha: tuple[AlongAlpha, ...] = ()


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
    """Points (Pass@1, Pass@16) by place, divergence and strength, in both models; the sweep of alpha."""
    run, exact = records.strategies
    curves = {strength: by_alpha(run, exact.sweep, strength, PLACES[0]) for strength in run.strengths}
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
            alpha=tuple(
                AlongAlpha(strength=strength, alpha=tuple(curve), pass_at_k=tuple(curve.values()))
                for strength, curve in curves.items()
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
        (name, strength, found.spread, found.gain_k, found.gain_1)
        for name, model in models.items()
        for strength, found in _worths(model).items()
    ]
    return Table.of(("model", "strength", *changes), rows)


def draw(config: FigureConfig, results: SweepsNumbers) -> Drawing:
    """Top: strategies by strength and alpha. Bottom: the tiny transformer; the worth of each choice."""
    exact, tiny = results.strategies, results.styles
    drawing, axes = theme.new(height=4.9, nrows=2, ncols=3)
    _trade(axes[0, 0], exact)
    axes[0, 0].set_title("Strategies")
    _by_strength(axes[0, 1], exact)
    _by_alpha(axes[0, 2], exact.alpha)
    _trade(axes[1, 0], tiny)
    axes[1, 0].set_title("Tiny transformer, one seed")
    for ax, model, words in (
        (axes[1, 1], exact, "Worth of each choice: strategies"),
        (axes[1, 2], tiny, "The same: tiny transformer"),
    ):
        _draw_worth(ax, _worths(model))
        ax.set_title(words)
    seeds.legend(drawing, (axes[0, 0], axes[1, 1]), 4)
    return drawing


def _paths(model: SweepsModel, place: str) -> Iterator[tuple[str, np.ndarray]]:
    """Each divergence with its points there, (strengths, 3): strength, Pass@1, Pass@k."""
    points = [point for point in model.points if point.place == place]
    for name in dict.fromkeys(point.divergence for point in points):
        of = [point for point in points if point.divergence == name]
        yield name, np.array([(p.strength, p.pass_at_1, p.pass_at_k) for p in of])


def _trade(ax: Axes, model: SweepsModel) -> None:
    """Pass@1 against Pass@k: a path along the strength for each divergence; open where on all prompts."""
    for place in PLACES:
        for name, path in _paths(model, place):
            how = seeds.look(name) | {"linewidth": 0.7, "markeredgewidth": 0.7}
            label = seeds.written(name) if place == PLACES[0] else None
            face = how["color"] if place == PLACES[0] else "white"
            ax.plot(path[:, 1], path[:, 2], label=label, markerfacecolor=face, **how)
    for score, words in ((model.base, "base"), (model.none, "no anchor")):
        at = (score.pass_at_1, score.pass_at_k)
        ax.plot(*at, "*", color=theme.BLACK, markersize=7, markerfacecolor="white")
        ax.annotate(words, at, (0, -10), textcoords="offset points", fontsize=theme.points(6.5), ha="center")
    ax.set(xlabel="Pass@1", ylabel=f"Pass@{K}")
    ax.margins(0.12)


def _by_strength(ax: Axes, model: SweepsModel) -> None:
    """Pass@k along the strength on D_pef, and thinner on all prompts."""
    for place, width, size in zip(PLACES, (1.3, 0.6), (3.5, 0), strict=True):
        for name, path in _paths(model, place):
            ax.plot(path[:, 0], path[:, 2], **seeds.look(name) | {"linewidth": width, "markersize": size})
    theme.level(ax, model.base.pass_at_k, linewidth=0.7)
    ax.set(xscale="log", xlabel=r"strength $\eta f''(1)$", ylabel=f"Pass@{K}")
    ax.set_title(f"Strategies: {seeds.written(PLACES[0])}, thin: all")


def _by_alpha(ax: Axes, curves: Sequence[AlongAlpha]) -> None:
    """Pass@k along alpha, a line a strength, darker the stronger."""
    for curve, shade in zip(curves, np.linspace(0.75, 0.0, len(curves)), strict=True):
        ax.plot(curve.alpha, curve.pass_at_k, color=str(shade), linewidth=1)
    widest = max(curves, key=lambda curve: float(np.ptp(curve.pass_at_k)))
    for curve in {curve.strength: curve for curve in (curves[0], widest, curves[-1])}.values():
        words = rf"$\eta f'' = {curve.strength:.3g}$"
        ax.text(1.03, curve.pass_at_k[-1], words, fontsize=theme.points(6.5), va="center")
    ax.set(xlabel=r"$\alpha$ (0: reverse, 1: forward KL)", ylabel=f"Pass@{K}", xlim=(-0.02, 1.5))
    ax.set_xticks([0, 0.5, 1])
    ax.set_title(r"Strategies: $\alpha$ on " + seeds.written(PLACES[0]))


def _draw_worth(ax: Axes, found: dict[float, Worth]) -> None:
    """Along the strength: the divergence's worth, and the place's for Pass@k and for Pass@1."""
    lines = (
        ("spread", f"Pass@{K}: divergence, at most", theme.BLACK, "o-"),
        ("gain_k", f"Pass@{K}: all prompts", theme.VERMILLION, "s--"),
        ("gain_1", "Pass@1: all prompts", theme.ORANGE, "^:"),
    )
    for name, words, color, how in lines:
        ax.plot(list(found), [getattr(w, name) for w in found.values()], how, color=color, label=words)
    ax.axhline(0, color=theme.GREY, linewidth=0.6)
    ax.set(xscale="log", xlabel=r"strength $\eta f''(1)$", ylabel="change")
    if len(found) < 4:
        theme.ticks(ax, list(found))


FIGURE = Figure(
    name="sweeps",
    title="Strength, alpha, and place against divergence",
    caption=(
        "An anchor is a divergence from the base, added to the loss with weight eta; its strength is eta "
        "f''(1). Left: Pass@1 against Pass@16 as the strength grows, from the end without an anchor on, with "
        "anchors on D_pef, the prompts that the base solves (filled), or on all prompts (open), where alpha "
        "is 0.5 for strategies and 0.2 for the transformer; top, middle and right: Pass@16 along the "
        "strength (dotted: the base), and along the alpha-divergences at each strength, darker the stronger. "
        "Last two panels: the largest difference that the divergence makes on D_pef, and what all prompts in "
        "place of D_pef change on average over divergences; strategies are exact, and the tiny transformer "
        "is trained from one base, so its differences carry the noise of one seed."
    ),
    results=SweepsNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("strategies", "styles"),
)
