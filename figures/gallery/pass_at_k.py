"""Pass@k by k: strategies that prompt types share, exactly, and the tiny transformer's change over seeds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as Drawing

from dph_theory.support.table import Table
from toy_lm.strategies.results import StrategiesResults as Exact
from toy_lm.styles.results import Split
from toy_lm.styles.results import StylesResults as Tiny

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

ON_D_PEF = ("DPH-F", "DPH-JS", "reverse KL on D_pef")
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
    """Pass@k less that of the same seed's base, over seeds by split and method."""

    k: tuple[int, ...]
    changes: dict[Split, dict[str, Means]]


@dataclass(frozen=True, kw_only=True)
class PassAtKNumbers:
    """Strategies at the comparison's strength and where the direction matters most; the transformer."""

    strategies: tuple[Strategies, ...]
    styles: PassAtKTransformer


def compute(config: FigureConfig, records: Records) -> PassAtKNumbers:
    """The curves of the strategies model, and the tiny transformer's changes with intervals over seeds."""
    tiny, (run, exact) = records.styles, records.strategies
    changes = {split: _changes(tiny, split) for split in seeds.SPLITS}
    return PassAtKNumbers(
        strategies=tuple(_strategies(run.strength, exact)),
        styles=PassAtKTransformer(k=tiny.k, changes=changes),
    )


def _changes(tiny: Tiny, split: Split) -> dict[str, Means]:
    before = {base.seed: np.array(base.on(split).pass_at_k) for base in tiny.bases}
    return {
        name: seeds.over_seeds([run.on(split).pass_at_k - before[run.seed] for run in runs])
        for name, runs in tiny.by_method(STYLES).items()
    }


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
    base = np.array(exact.curves["base"])
    gains = {name: curve - base for name, curve in exact.curves.items() if name != "base"}
    found = {f"strategies, strength {exact.strength:g}": (exact.k, gains)}
    for split, words in seeds.SPLITS.items():
        means = {name: change.mean for name, change in tiny.changes[split].items()}
        found[f"tiny transformer, {words}"] = (tiny.k, means)
    rows = [
        (where, name, next((float(k) for k, gain in zip(ks, gains, strict=True) if gain < 0), None))
        for where, (ks, of) in found.items()
        for name, gains in of.items()
    ]
    return Table.of(("model", "method", "Pass@k is below the base's from k on"), rows)


def draw(config: FigureConfig, results: PassAtKNumbers) -> Drawing:
    """Strategies at two strengths; the transformer's changes on training prompts and on held-out ones."""
    drawing, axes = theme.new(height=4.9, nrows=2, ncols=2, sharey="row")
    for ax, exact in zip(axes[0], results.strategies, strict=True):
        for name, values in exact.curves.items():
            seeds.curve(ax, exact.k, Means(np.array(values)), name)
        ax.set_title(rf"Strategies, anchor of strength {exact.strength:.2g}")
    for ax, (split, words) in zip(axes[1], seeds.SPLITS.items(), strict=True):
        theme.level(ax, 0, **theme.METHODS["base"] | {"marker": ""})
        for place, (name, found) in enumerate(results.styles.changes[split].items()):
            seeds.curve(ax, results.styles.k, found, name, beside=3 * (place - 2), markevery=(0, 2))
        ax.set_title(f"Tiny transformer, {words}")
    for ax in axes.flat:
        ax.set_xscale("log", base=2)
        ax.set_xticks(TICKS, [f"{k}" for k in TICKS])
        ax.set_xlabel(r"samples $k$")
    axes[0, 0].set_ylabel(r"Pass@$k$")
    axes[1, 0].set_ylabel(r"Pass@$k$ less the base's")
    seeds.legend(drawing, axes.flat, 4)
    return drawing


FIGURE = Figure(
    name="pass_at_k",
    title="Without an anchor Pass@k falls below the base's as k grows; a strong one keeps most of it",
    caption=(
        "Pass@k averaged over prompts, before training (base) and after; an anchor is a divergence from the "
        "base, added to the loss with weight eta, and its strength is eta f''(1). Top: strategies that "
        "prompt types share, trained by exact gradients, with anchors on D_pef, the prompts that the base "
        "solves, at strength 1 (left) and where forward and reverse KL differ most (right); GRPO has no "
        "anchor, RKL (left) has one on all prompts. Bottom: a tiny transformer's Pass@k less that of its "
        "base, by enumeration, on its training prompts and on others, with anchors of strength 0.3, GRPO's "
        "as published and DAPO's none; means over seeds with 95% intervals, paired by seed and set side by "
        "side."
    ),
    results=PassAtKNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("strategies", "styles"),
)
