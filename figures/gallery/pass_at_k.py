"""Pass@k against k: strategies that prompt types share, exactly, and the tiny transformer over seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table
from toy_lm.strategies.results import StrategiesResults as Exact
from toy_lm.styles.results import Split

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

ON_D_PEF = ("DPH-F", "DPH-JS", "DPH-alpha", "reverse KL on D_pef")
RKL = "reverse KL on all prompts"
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
TICKS = (1, 4, 16, 64, 256)


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """Exact Pass@k by method, anchors having one strength."""

    strength: float
    k: tuple[int, ...]
    curves: dict[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class PassAtKTransformer:
    """Pass@k over seeds by split and method."""

    k: tuple[int, ...]
    curves: dict[Split, dict[str, Means]]


@dataclass(frozen=True, kw_only=True)
class PassAtKNumbers:
    """Strategies at the comparison's strength and where the direction matters most; the transformer."""

    strategies: tuple[Strategies, ...]
    styles: PassAtKTransformer


def compute(config: FigureConfig, records: Records) -> PassAtKNumbers:
    """The curves of the strategies model, and of the tiny transformer with intervals over seeds."""
    tiny, (run, exact) = records.styles, records.strategies
    trained = {"base": tiny.bases} | tiny.by_method(STYLES)
    curves = {
        split: {
            name: seeds.over_seeds([model.on(split).pass_at_k for model in models], probability_interval)
            for name, models in trained.items()
        }
        for split in seeds.SPLITS
    }
    return PassAtKNumbers(
        strategies=tuple(_strategies(run.strength, exact)), styles=PassAtKTransformer(k=tiny.k, curves=curves)
    )


def _strategies(strength: float, exact: Exact) -> Iterator[Strategies]:
    """The strategies model's curves at the comparison's strength, and where the direction matters most."""
    named = {method.name: method.pass_at_draws for method in exact.methods}
    alone = {"base": exact.base.pass_at_draws, "GRPO": named["GRPO"]}
    weak = exact.weak
    for at, found in ((strength, named), (weak.strength, weak.pass_at_draws)):
        anchored = {name: found[name] for name in ON_D_PEF}
        # RKL is the reverse KL on all prompts, which is recorded at the comparison's strength only.
        everywhere = {"RKL": found[RKL]} if RKL in found else {}
        yield Strategies(strength=at, k=exact.draws, curves={**alone, **everywhere, **anchored})


def table(results: PassAtKNumbers) -> Table:
    """From which k on the Pass@k of each method is below the base's."""
    exact, tiny = results.strategies[0], results.styles
    found = {f"strategies, strength {exact.strength:g}": _crossings(exact.k, exact.curves)}
    for split, words in seeds.SPLITS.items():
        means = {name: curve.mean for name, curve in tiny.curves[split].items()}
        found[f"tiny transformer, {words}"] = _crossings(tiny.k, means)
    rows = [(where, name, float(k) if k else None) for where, of in found.items() for name, k in of.items()]
    return Table.of(("model", "method", "Pass@k is below the base's from k on"), rows)


def _crossings(
    ks: Sequence[int], curves: Mapping[str, Sequence[float] | np.ndarray]
) -> dict[str, int | None]:
    base = curves["base"]
    return {
        name: next((k for k, value, bar in zip(ks, values, base, strict=True) if value < bar), None)
        for name, values in curves.items()
        if name != "base"
    }


def draw(config: FigureConfig, results: PassAtKNumbers) -> Drawing:
    """Four panels with one legend: strategies at two strengths, training prompts, held-out prompts."""
    drawing, axes = theme.new(height=4.9, nrows=2, ncols=2)
    for ax, exact in zip(axes[0], results.strategies, strict=True):
        for name, values in exact.curves.items():
            seeds.curve(ax, exact.k, Means(np.array(values)), name)
        ax.set_title(rf"Strategies, $\eta f''(1) = {exact.strength:.3g}$")
    for ax, (split, words) in zip(axes[1], seeds.SPLITS.items(), strict=True):
        for name, found in results.styles.curves[split].items():
            seeds.curve(ax, results.styles.k, found, name)
        ax.set_title(f"Tiny transformer, {words}")
    for ax in axes.flat:
        ax.set_xscale("log", base=2)
        ax.set_xticks(TICKS, [f"{k}" for k in TICKS])
        ax.set(xlabel=r"$k$", ylabel=r"Pass@$k$")
        low = min(line.get_ydata().min() for line in ax.get_lines())
        ax.set_ylim(low - 0.03, 1.01)
    seeds.legend(drawing, axes.flat, 4)
    return drawing


FIGURE = Figure(
    name="pass_at_k",
    title="Pass@k before and after training",
    caption=(
        "Pass@k averaged over prompts, before training (base) and after; an anchor is a divergence from the "
        "base, added to the loss with weight eta, and its strength is eta f''(1). Top: strategies that "
        "prompt types share, trained by exact gradients, with anchors on D_pef, the prompts that the base "
        "solves, at strength 1 (left) and where forward and reverse KL differ most (right); GRPO has no "
        "anchor, RKL (left) has one on all prompts. Bottom: a tiny transformer trained by sampling and "
        "evaluated by enumeration, on its training prompts and on others, with anchors of strength 0.3, "
        "GRPO's as published and DAPO's none; means over seeds with 95% intervals."
    ),
    results=PassAtKNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("strategies", "styles"),
)
