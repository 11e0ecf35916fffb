"""Sweeps of strength and alpha, and what the place of an anchor is worth against its divergence."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from toy_lm import strategies, styles
from toy_lm.strategies.summary import by_alpha, directions
from toy_lm.styles.results import End, Results

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

PLACES = ("D_pef", "all prompts")
TINY_PLACES = {"rehearsed": "D_pef", "all": "all prompts"}
TINY_NAMES = {"DPH-F": "forward KL", "DPH-JS": "JS", "DPH-alpha": "alpha", "reverse": "reverse KL"}
K = 16

Point = list[float]
"""Pass@1 and Pass@16."""


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """Points (Pass@1, Pass@16) by place, divergence and strength, in both models; the sweep of alpha."""
    run, exact = strategies.read(records["strategies"])
    points = [
        {
            "place": row.place,
            "divergence": name,
            "strength": row.strength,
            "point": [row.pass_at_1[name], row.pass_at_k[name]],
        }
        for row in directions(run, exact.sweep)
        for name in row.pass_at_1
    ]
    alphas = {strength: by_alpha(run, exact.sweep, strength, PLACES[0]) for strength in run.strengths}
    free = exact.method("GRPO")
    return {
        "strategies": {
            "k": run.coverage_draws,
            "base": [exact.base.pass_at_1, exact.base.pass_at_k],
            "none": [free.pass_at_1, free.pass_at_k],
            "points": points,
            "alpha": [
                {"strength": strength, "alpha": list(curve), "pass_at_k": list(curve.values())}
                for strength, curve in alphas.items()
            ],
        },
        "styles": {"k": K, **_tiny(styles.read(records["styles"]))},
    }


def _tiny(results: Results) -> dict[str, Any]:
    """The tiny transformer's points from its first base, where all strengths and places were tried."""
    first = results.bases[0]
    runs = [run for run in results.runs if run.seed == first.seed]
    wanted = [run for run in runs if run.name in TINY_NAMES and run.strength is not None]
    return {
        "base": _point(results, first.train),
        "none": next(_point(results, run.train) for run in results.of_group("main") if run.name == "DAPO"),
        "points": [
            {
                "place": TINY_PLACES[run.place],
                "divergence": TINY_NAMES[run.name],
                "strength": run.strength,
                "point": _point(results, run.train),
            }
            for run in sorted(wanted, key=lambda run: run.strength or 0.0)
            if set(run.groups) != {"long"}
        ],
    }


def _point(results: Results, end: End) -> Point:
    return [results.pass_at(end, k) for k in (1, K)]


def worth(points: Sequence[Mapping[str, Any]], strength: float) -> dict[str, float] | None:
    """What the choice of divergence changes at most, and that of the place on average; None if untried.

    spread: the largest difference of Pass@16 between divergences on D_pef. gain_1 and gain_k: the mean
    change of Pass@1 and Pass@16 from D_pef to all prompts.
    """
    at = {place: _at(points, place, strength) for place in PLACES}
    both = [name for name in at[PLACES[0]] if name in at[PLACES[1]]]
    if not both:
        return None
    here, everywhere = (np.array([at[place][name] for name in both]) for place in PLACES)
    gain = (everywhere - here).mean(axis=0)
    return {"spread": float(np.ptp(here[:, 1])), "gain_1": float(gain[0]), "gain_k": float(gain[1])}


def _at(points: Sequence[Mapping[str, Any]], place: str, strength: float) -> dict[str, Point]:
    return {p["divergence"]: p["point"] for p in points if (p["place"], p["strength"]) == (place, strength)}


def _strengths(points: Sequence[Mapping[str, Any]]) -> list[float]:
    return sorted({point["strength"] for point in points})


def findings(results: Mapping[str, Any]) -> list[str]:
    """Place against divergence at the strengths where the divergence is worth the most and the least."""
    said = []
    for name, words in (("strategies", "Strategies"), ("styles", "Tiny transformer, one seed")):
        points, k = results[name]["points"], results[name]["k"]
        tried = {s: found for s in _strengths(points) if (found := worth(points, s)) is not None}
        spreads = {s: found["spread"] for s, found in tried.items()}
        ends = {choose(tried, key=spreads.__getitem__) for choose in (max, min)} if tried else set()
        for strength in sorted(ends):
            found = tried[strength]
            said.append(
                f"{words}, strength {strength:g}: the divergence on D_pef changes Pass@{k} by up to "
                f"{found['spread']:.3f}; all prompts in its place change it by {found['gain_k']:+.3f} and "
                f"Pass@1 by {found['gain_1']:+.3f} on average over divergences."
            )
    return said


def draw(record: Mapping[str, Any]) -> Drawing:
    """Top: strategies by strength and alpha. Bottom: the tiny transformer; the worth of each choice."""
    exact, tiny = record["results"]["strategies"], record["results"]["styles"]
    drawing, axes = theme.new(height=4.9, nrows=2, ncols=3)
    _trade(axes[0, 0], exact)
    axes[0, 0].set_title("Strategies")
    _by_strength(axes[0, 1], exact)
    _by_alpha(axes[0, 2], exact)
    _trade(axes[1, 0], tiny)
    axes[1, 0].set_title("Tiny transformer, one seed")
    for ax, model, words in (
        (axes[1, 1], exact, "Worth of each choice: strategies"),
        (axes[1, 2], tiny, "The same: tiny transformer"),
    ):
        _worth(ax, model)
        ax.set_title(words)
    seeds.legend(drawing, (axes[0, 0], axes[1, 1]), 4)
    return drawing


def _paths(model: Mapping[str, Any], place: str) -> Iterable[tuple[str, np.ndarray]]:
    """Each divergence with its points there, (strengths, 3): strength, Pass@1, Pass@k."""
    points = [point for point in model["points"] if point["place"] == place]
    for name in dict.fromkeys(point["divergence"] for point in points):
        yield name, np.array([[p["strength"], *p["point"]] for p in points if p["divergence"] == name])


def _trade(ax: Axes, model: Mapping[str, Any]) -> None:
    """Pass@1 against Pass@k: a path along the strength for each divergence; open where on all prompts."""
    for place in PLACES:
        for name, path in _paths(model, place):
            how = seeds.look(name) | {"linewidth": 0.7, "markeredgewidth": 0.7}
            label = seeds.written(name) if place == PLACES[0] else None
            face = how["color"] if place == PLACES[0] else "white"
            ax.plot(path[:, 1], path[:, 2], label=label, markerfacecolor=face, **how)
    for name, words in (("base", "base"), ("none", "no anchor")):
        ax.plot(*model[name], "*", color=theme.BLACK, markersize=7, markerfacecolor="white")
        ax.annotate(words, model[name], (0, -10), textcoords="offset points", fontsize=6.5, ha="center")
    ax.set(xlabel="Pass@1", ylabel=f"Pass@{model['k']}")
    ax.margins(0.12)


def _by_strength(ax: Axes, model: Mapping[str, Any]) -> None:
    """Pass@k along the strength on D_pef, and thinner on all prompts."""
    for place, width, size in zip(PLACES, (1.3, 0.6), (3.5, 0), strict=True):
        for name, path in _paths(model, place):
            ax.plot(path[:, 0], path[:, 2], **seeds.look(name) | {"linewidth": width, "markersize": size})
    ax.axhline(model["base"][1], color=theme.GREY, linewidth=0.7, linestyle=":")
    ax.set(xscale="log", xlabel=r"strength $\eta f''(1)$", ylabel=f"Pass@{model['k']}")
    ax.set_title(f"Strategies: {seeds.written(PLACES[0])}, thin: all")


def _by_alpha(ax: Axes, model: Mapping[str, Any]) -> None:
    """Pass@k along alpha, a line a strength, darker the stronger."""
    curves = model["alpha"]
    for curve, shade in zip(curves, np.linspace(0.75, 0.0, len(curves)), strict=True):
        ax.plot(curve["alpha"], curve["pass_at_k"], color=str(shade), linewidth=1)
    widest = max(curves, key=lambda curve: float(np.ptp(curve["pass_at_k"])))
    for curve in {curve["strength"]: curve for curve in (curves[0], widest, curves[-1])}.values():
        words = rf"$\eta f'' = {curve['strength']:.3g}$"
        ax.text(1.03, curve["pass_at_k"][-1], words, fontsize=6.5, va="center")
    ax.set(xlabel=r"$\alpha$ (0: reverse, 1: forward KL)", ylabel=f"Pass@{model['k']}", xlim=(-0.02, 1.5))
    ax.set_xticks([0, 0.5, 1])
    ax.set_title(r"Strategies: $\alpha$ on " + seeds.written(PLACES[0]))


def _worth(ax: Axes, model: Mapping[str, Any]) -> None:
    """Along the strength: the divergence's worth, and the place's for Pass@k and for Pass@1."""
    found = {s: w for s in _strengths(model["points"]) if (w := worth(model["points"], s)) is not None}
    k = model["k"]
    lines: dict[str, tuple[str, dict[str, Any]]] = {
        "spread": (f"Pass@{k}: divergence, at most", {"color": theme.BLACK, "marker": "o"}),
        "gain_k": (f"Pass@{k}: all prompts", {"color": theme.VERMILLION, "marker": "s", "linestyle": "--"}),
        "gain_1": ("Pass@1: all prompts", {"color": theme.ORANGE, "marker": "^", "linestyle": ":"}),
    }
    for key, (words, how) in lines.items():
        ax.plot(list(found), [w[key] for w in found.values()], label=words, **how)
    ax.axhline(0, color=theme.GREY, linewidth=0.6)
    ax.set(xscale="log", xlabel=r"strength $\eta f''(1)$", ylabel="change")
    if len(found) < 4:
        ax.set_xticks(list(found), [f"{strength:g}" for strength in found])
        ax.minorticks_off()


FIGURE = Figure(
    name="sweeps",
    title="Strength, alpha, and place against divergence",
    caption=(
        "An anchor is a divergence from the base, added to the loss with weight eta; its strength is eta "
        "f''(1). Left: Pass@1 against Pass@16 as the strength grows, from the end without an anchor on; "
        "filled: anchors on D_pef, the prompts that the base solves, open: on all prompts; alpha is 0.5 "
        "for strategies and 0.2 for the transformer. Middle and right of the top row: Pass@16 along the "
        "strength (dotted: the base), and along the alpha-divergences at each strength, darker the "
        "stronger. Last two panels: the largest difference that the divergence makes on D_pef, and what "
        "all prompts in place of D_pef change on average over divergences. Strategies are exact; the tiny "
        "transformer is trained from one base, so its differences carry the noise of one seed."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("strategies", "styles"),
)
