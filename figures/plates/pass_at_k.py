"""Pass@k against k: strategies that prompt types share, exactly, and the tiny transformer over seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import probability_interval
from toy_lm import strategies, styles
from toy_lm.strategies.config import Config
from toy_lm.strategies.results import Results
from toy_lm.styles.results import Split

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

ON_D_PEF = ("DPH-F", "DPH-JS", "DPH-alpha", "reverse KL on D_pef")
RKL = "reverse KL on all prompts"
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
TICKS = (1, 4, 16, 64, 256)
SPLITS: dict[Split, str] = {"train": "training prompts", "held_out": "held-out prompts"}


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The curves of the strategies model, and of the tiny transformer with intervals over seeds."""
    tiny = styles.read(records["styles"])
    named = {run.label: run.name for run in tiny.of_group("main") if run.name in STYLES} | {"base": "base"}
    return {
        "strategies": list(_strategies(*strategies.read(records["strategies"]))),
        "styles": {
            "k": tiny.k,
            "seeds": len(tiny.bases),
            "curves": {
                split: {
                    named[label]: seeds.over_seeds([end.pass_at_k for end in ends], probability_interval)
                    for label, ends in tiny.ends(split).items()
                    if label in named
                }
                for split in SPLITS
            },
        },
    }


def _strategies(config: Config, exact: Results) -> Iterator[dict[str, Any]]:
    """The strategies model's curves at the comparison's strength, and where the direction matters most."""
    named = {method.name: method.pass_at_draws for method in exact.methods}
    alone = {"base": exact.base.pass_at_draws, "GRPO": named["GRPO"]}
    weak = exact.weak
    for strength, found in ((config.strength, named), (weak.strength, weak.pass_at_draws)):
        anchored = {name: found[name] for name in ON_D_PEF}
        # RKL is the reverse KL on all prompts, which is recorded at the comparison's strength only.
        everywhere = {"RKL": found[RKL]} if RKL in found else {}
        yield {"strength": strength, "k": exact.draws, "curves": {**alone, **everywhere, **anchored}}


def findings(results: Mapping[str, Any]) -> list[str]:
    """From which k on the base solves more than a method that it was trained into."""
    tiny, exact = results["styles"], results["strategies"][0]
    curves = {split: {n: f["mean"] for n, f in tiny["curves"][split].items()} for split in SPLITS}
    crossings = {
        f"Strategies, strength {exact['strength']:g}": _crossings(exact["k"], exact["curves"]),
        **{f"Tiny transformer, {SPLITS[split]}": _crossings(tiny["k"], curves[split]) for split in SPLITS},
    }
    return [
        *(f"{where}: Pass@k is below the base's with {who}." for where, who in crossings.items()),
    ]


def _crossings(ks: Sequence[int], curves: Mapping[str, Sequence[float]]) -> str:
    base, parts = curves["base"], []
    for name, values in curves.items():
        below = [k for k, value, bar in zip(ks, values, base, strict=True) if value < bar]
        if name != "base":
            parts.append(f"{name} {f'from k = {below[0]}' if below else 'at no k'}")
    return ", ".join(parts)


def draw(record: Mapping[str, Any]) -> Drawing:
    """Four panels with one legend: strategies at two strengths, training prompts, held-out prompts."""
    results = record["results"]
    tiny = results["styles"]
    drawing, axes = theme.new(height=4.9, nrows=2, ncols=2)
    for ax, exact in zip(axes[0], results["strategies"], strict=True):
        for name, values in exact["curves"].items():
            seeds.curve(ax, exact["k"], {"mean": values, "low": None}, name)
        ax.set_title(rf"Strategies, $\eta f''(1) = {exact['strength']:.3g}$")
    for ax, (split, words) in zip(axes[1], SPLITS.items(), strict=True):
        for name, found in tiny["curves"][split].items():
            seeds.curve(ax, tiny["k"], found, name)
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
        "Pass@k averaged over prompts, before training (base) and after. An anchor is a divergence from the "
        "base, added to the loss with weight eta; its strength is eta f''(1). Top: strategies that prompt "
        "types share, trained by exact gradients; anchors act on D_pef, the prompts that the base solves, at "
        "strength 1 (left) and where forward and reverse KL differ most (right). GRPO has no anchor, RKL "
        "(left) has one on all prompts. Bottom: a tiny transformer trained by sampling and evaluated by "
        "enumeration, on its training prompts and on others; anchors of strength 0.3, GRPO's as published, "
        "DAPO none; means over seeds with 95% intervals."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("strategies", "styles"),
)
