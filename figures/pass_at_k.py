"""Pass@k against k: strategies that prompt types share, exactly, and the tiny transformer over seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Drawing

from . import experiments, seeds, style
from .figure import Figure

STRATEGIES = ("GRPO", "DPH-F", "DPH-JS", "reverse KL on D_pef", "reverse KL on all prompts")
ON_D_PEF = STRATEGIES[1:4]
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")
TICKS = (1, 4, 16, 64, 256)
SPLITS = {"train": "training prompts", "held_out": "held-out prompts"}


def compute(config: Mapping[str, Any]) -> dict[str, Any]:
    """The curves of the strategies model, and of the tiny transformer with intervals over seeds."""
    exact = experiments.experiment("strategies", config["quick"])["results"]
    tiny = experiments.experiment("styles", config["quick"])["results"]
    named = {method["name"]: method for method in exact["methods"]}
    ends = {"base": [*tiny["bases"]]}
    for run in tiny["runs"]:
        if run["name"] in STYLES and "main" in run["groups"]:
            ends.setdefault(run["name"], []).append(run["end"])
    return {
        "strategies": {
            "k": exact["draws"],
            "curves": {
                "base": exact["base"]["pass_at_draws"],
                **{name: named[name]["pass_at_draws"] for name in STRATEGIES},
            },
        },
        "styles": {
            "k": tiny["k"],
            "seeds": len(tiny["bases"]),
            "curves": {
                split: {
                    name: seeds.over_seeds([end[split]["pass@k"] for end in of]) for name, of in ends.items()
                }
                for split in SPLITS
            },
        },
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """From which k on the base solves more than a method that it was trained into."""
    exact, tiny = results["strategies"], results["styles"]
    said = [_crossings("Strategies", exact["k"], exact["curves"]), _apart(exact["curves"])]
    for split, words in SPLITS.items():
        curves = tiny["curves"][split]
        means = {name: found["mean"] for name, found in curves.items()}
        said += [
            _crossings(f"Tiny transformer, {words}", tiny["k"], means),
            _surely(words, tiny["k"], curves),
        ]
    return said


def _surely(where: str, ks: list[int], curves: Mapping[str, Mapping[str, Any]]) -> str:
    """Where the intervals over seeds leave no overlap with the base's."""
    bars, parts = curves["base"]["low"], []
    for name, found in curves.items():
        bounds = zip(ks, found["high"], bars, strict=True)
        apart = [f"{k}" for k, high, bar in bounds if None not in (high, bar) and high < bar]
        parts += [f"{name} at k = {', '.join(apart)}"] if apart else []
    whom = "; ".join(parts) or "no method"
    return f"There ({where}) the 95% intervals lie apart below the base's with {whom}."


def _apart(curves: Mapping[str, list[float]]) -> str:
    here = np.array([values for name, values in curves.items() if name in ON_D_PEF])
    return (
        f"Strategies: the curves of {', '.join(ON_D_PEF)} differ by at most {np.ptp(here, axis=0).max():.3f} "
        "at this strength."
    )


def _crossings(where: str, ks: list[int], curves: Mapping[str, list[float]]) -> str:
    base, parts = curves["base"], []
    for name, values in curves.items():
        below = [k for k, value, bar in zip(ks, values, base, strict=True) if value < bar]
        if name != "base":
            parts.append(f"{name} {f'from k = {below[0]}' if below else 'at no k'}")
    return f"{where}: Pass@k is below the base's with {', '.join(parts)}."


def draw(record: Mapping[str, Any]) -> Drawing:
    """Three panels with one legend: strategies, training prompts, held-out prompts."""
    results = record["results"]
    exact, tiny = results["strategies"], results["styles"]
    drawing, axes = style.new(height=3.0, ncols=3)
    for name, values in exact["curves"].items():
        known = {"mean": values, "low": None}
        seeds.curve(axes[0], exact["k"], known, _as_published(name), label=seeds.written(name))
    for ax, (split, words) in zip(axes[1:], SPLITS.items(), strict=True):
        for name, found in tiny["curves"][split].items():
            seeds.curve(ax, tiny["k"], found, name)
        ax.set_title(f"Tiny transformer:\n{words}")
    axes[0].set_title("Strategies:\nexact")
    for ax in axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(TICKS, [f"{k}" for k in TICKS])
        ax.set(xlabel=r"$k$", ylabel=r"Pass@$k$")
        low = min(line.get_ydata().min() for line in ax.get_lines())
        ax.set_ylim(low - 0.03, 1.01)
    seeds.legend(drawing, axes, 4)
    return drawing


def _as_published(name: str) -> str:
    """The baseline RKL acts on all prompts, so the reverse KL there looks like it."""
    return "RKL" if name == "reverse KL on all prompts" else name


FIGURE = Figure(
    name="pass_at_k",
    title="Pass@k before and after training",
    caption=(
        "Pass@k averaged over prompts, before training (base) and after. Left: strategies that prompt types "
        "share, trained by exact gradients; every anchor has strength eta f''(1) = 1, GRPO none. Middle and "
        "right: a tiny transformer trained by sampling and evaluated by enumeration, on the prompts it was "
        "trained on and on others; anchors of strength 0.3, GRPO's as published, DAPO none; means over seeds "
        "with 95% t-intervals."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("strategies", "styles"),
)
