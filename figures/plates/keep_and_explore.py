"""Keep and explore: what each method still solves of what the base solved, and what it solves anew."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure as Drawing

from toy_lm.styles import read
from toy_lm.styles.results import Split
from toy_lm.styles.summary import scores

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

MEASURES = {"retention": "kept", "exploration": "newly solved"}
SPLITS: dict[Split, str] = {"train": "training prompts", "held_out": "held-out prompts"}


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The shares kept and newly solved by method and split, with intervals over seeds, and of how many."""
    tiny = read(records["styles"])
    score = {split: scores(tiny, split) for split in SPLITS}
    solved = {split: [base.on(split) for base in tiny.bases] for split in SPLITS}
    return {
        "seeds": len(tiny.bases),
        "prompts": {
            split: {
                "retention": [end.base_solved for end in ends],
                "exploration": [end.base_unsolved for end in ends],
            }
            for split, ends in solved.items()
        },
        "methods": {
            label: {
                split: {name: seeds.interval(getattr(score[split][label], name)) for name in MEASURES}
                for split in SPLITS
            }
            for label in tiny.ends("train")
            if label != "base"
        },
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Who keeps and who explores the most, and whether one has to be traded for the other."""
    said = []
    for split, words in SPLITS.items():
        shares = {
            name: {
                label: found[split][name]["mean"]
                for label, found in results["methods"].items()
                if found[split][name] is not None
            }
            for name in MEASURES
        }
        parts = []
        for name, verb in MEASURES.items():
            if shares[name]:
                best = max(shares[name], key=shares[name].__getitem__)
                least = min(shares[name], key=shares[name].__getitem__)
                parts.append(
                    f"{verb} most by {best} ({shares[name][best]:.3f}), least by {least} "
                    f"({shares[name][least]:.3f})"
                )
        said.append(f"On {words}: {'; '.join(parts)}.")
    return said


def draw(record: Mapping[str, Any]) -> Drawing:
    """Left the share kept, right the share newly solved; a row a method."""
    results = record["results"]
    methods = results["methods"]
    drawing, axes = theme.new(height=1.2 + 0.21 * len(methods), ncols=2, sharey=True)
    for ax, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        for row, (label, found) in enumerate(methods.items()):
            for split, filled, shift in (("train", True, -0.16), ("held_out", False, 0.16)):
                seeds.dot(ax, found[split][measure], row + shift, label, filled=filled)
        counts = [sum(results["prompts"][split][measure]) / results["seeds"] for split in SPLITS]
        solved = "solved by the base" if measure == "retention" else "not solved by the base"
        ax.set(xlim=(-0.03, 1.03), xlabel=f"share {words}")
        ax.set_title(f"Of {counts[0]:.0f} + {counts[1]:.0f} prompts {solved}")
        ax.grid(axis="y", color=theme.GREY, alpha=0.2, linewidth=0.5)
        ax.set_axisbelow(True)
    axes[0].set_yticks(range(len(methods)), [seeds.written(label) for label in methods])
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    for words, face in (("training prompts", theme.GREY), ("held-out prompts", "white")):
        axes[0].plot([], [], "o", color=theme.GREY, markerfacecolor=face, label=words)
    drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return drawing


FIGURE = Figure(
    name="keep_and_explore",
    title="Keep and explore",
    caption=(
        "Of the prompts that the base solves, the share still solved after training (left); of the others, "
        "the share newly solved (right). A prompt counts as solved where Pass@16, exact by enumeration, is "
        "at least 0.9. A tiny transformer; RKL is reverse KL to the base on all prompts, DPH methods train "
        "on stored correct samples of the prompts that the base solves. Filled: prompts it was trained on, "
        "open: held-out ones; means over seeds with 95% intervals. The titles count training and held-out "
        "prompts, averaged over seeds."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("styles",),
)
