"""Theory against training: checks and predictions for trained language models, and what they learnt."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy import stats

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

PANELS = {"checks": "Instrument checks", "predictions": "Predictions"}
VERDICTS: dict[str, dict[str, Any]] = {
    "consistent": {"color": theme.BLUE, "marker": "o"},
    "not enough samples": {"color": theme.GREY, "marker": "D", "markerfacecolor": "white"},
    "inconsistent": {"color": theme.VERMILLION, "marker": "X", "markersize": 6},
}
CONFIDENCE = 0.95
EDGE = 4.0
"""Gaps beyond so many margins are drawn at the edge."""


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The gaps between measurement and theory in margins, statement by statement; Pass@k over seeds."""
    demo = records["demo"]
    results, runs = demo["results"], len(demo["config"]["seeds"])
    return {
        "set": results["set"],
        "prompts": results["prompts"],
        "seeds": runs,
        **{panel: _by_name(results[panel]) for panel in PANELS},
        "differences": results["differences"],
        "methods": {name: _passes(columns, runs) for name, columns in results["methods"].items()},
    }


def _by_name(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in lines:
        entry = found.setdefault(line["name"], {"theory": line["theory"], "relations": [], "lines": []})
        if line["relation"] not in entry["relations"]:
            entry["relations"].append(line["relation"])
        entry["lines"].append({"margins": _in_margins(line), "verdict": line["verdict"]})
    return found


def _in_margins(line: Mapping[str, Any]) -> float:
    gap, margin = float(line["estimate"]) - float(line["prediction"]), float(line["margin"])
    if gap == 0 or np.isinf(margin):
        return 0.0
    return gap / margin if margin else float(np.copysign(2 * EDGE, gap))


def _passes(columns: Mapping[str, Any], runs: int) -> dict[str, Any]:
    """Pass@k with t-intervals over seeds, which the base, evaluated once, has not."""
    found = {int(name.removeprefix("Pass@")): v for name, v in columns.items() if name.startswith("Pass@")}
    mean = np.array([value["mean"] for value in found.values()])
    spread = [value["deviation"] for value in found.values()]
    if None in spread:
        return {"k": list(found), "mean": mean.tolist(), "low": None, "high": None}
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1) * np.array(spread, dtype=float) / np.sqrt(runs)
    return {
        "k": list(found),
        "mean": mean.tolist(),
        "low": (mean - reach).tolist(),
        "high": (mean + reach).tolist(),
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """How many checks hold, how many predictions, how many differences are told apart."""
    checks, predicted = (_verdicts(results[panel]) for panel in PANELS)
    expected = [gap for gap in results["differences"] if gap["expected"]]
    told = sum(gap["found"] == gap["expected"] for gap in expected)
    return [
        f"Of {len(checks)} instrument checks, which hold for every policy, {checks.count('inconsistent')} "
        "are violated.",
        f"Of {len(predicted)} predictions, which training could have missed, "
        f"{predicted.count('consistent')} are consistent with what was measured, "
        f"{predicted.count('inconsistent')} are not, and {predicted.count('not enough samples')} had not "
        "enough samples.",
        f"Of {len(expected)} differences between methods that the literature reports, {told} were found.",
    ]


def _verdicts(statements: Mapping[str, Any]) -> list[str]:
    return [line["verdict"] for entry in statements.values() for line in entry["lines"]]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Left: the checks; in the middle the predictions; right: what was trained, as Pass@k."""
    results = record["results"]
    drawing, axes = theme.new(height=3.6, ncols=3, width_ratios=(1.2, 1.2, 1))
    for ax, (panel, title) in zip(axes, PANELS.items(), strict=False):
        _gaps(ax, results[panel])
        ax.set(xlabel="measured minus theory, in margins", title=title)
    for name, found in results["methods"].items():
        seeds.curve(axes[2], found["k"], found, name)
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(found["k"], [str(k) for k in found["k"]])
    axes[2].set(xlabel=r"$k$", ylabel=r"Pass@$k$", title=f"{results['prompts']} new prompts")
    for verdict, how in VERDICTS.items():
        axes[0].plot([], [], linestyle="none", label=verdict, **how)
    seeds.legend(drawing, axes, 4)
    return drawing


def _gaps(ax: Axes, statements: Mapping[str, Any]) -> None:
    """A block a statement; in it a point for each run and set of prompts."""
    top, ticks = 0.0, []
    least = sum(len(entry["lines"]) for entry in statements.values()) / 8
    for number, entry in enumerate(statements.values()):
        height = max(len(entry["lines"]), least)
        ticks.append(top + height / 2)
        for row, line in enumerate(entry["lines"]):
            at = top + height * (row + 0.5) / len(entry["lines"])
            how = {"markersize": 2.2, "markeredgewidth": 0.6} | VERDICTS[line["verdict"]]
            ax.plot(np.clip(line["margins"], -EDGE, EDGE), at, linestyle="none", **how)
        ax.axhspan(top, top + height, color=theme.GREY, alpha=0.1 * (number % 2), linewidth=0)
        top += height
    ax.axvline(0, color=theme.BLACK, linewidth=0.7)
    for bound in (-1, 1):
        ax.axvline(bound, color=theme.BLACK, linewidth=0.5, linestyle=":")
    labels = [f"{name}\n${_sign(entry)}$ ({entry['theory']})" for name, entry in statements.items()]
    ax.set_yticks(ticks, labels)
    ax.set(ylim=(max(top, 1.0), 0), xlim=(-1.1 * EDGE, 1.1 * EDGE))


def _sign(entry: Mapping[str, Any]) -> str:
    signs = {">=": r"\geq 0", "==": "= 0"}
    return r"\,/\,".join(signs[relation] for relation in sorted(entry["relations"]))


FIGURE = Figure(
    name="theory_against_training",
    title="Theory against training",
    caption=(
        "A tiny language model trained on a small text-to-SQL task by each method. Left: statements that "
        "hold for every policy and so check the instrument. Middle: numbers that training could have "
        "missed. A point for every run and set of prompts: measured minus theory, in units of the margin "
        "within which sampling may move it (three standard deviations, wider for few prompts and for the "
        "worst of many). A statement >= 0 is violated left of -1, = 0 outside the dotted lines; gaps of "
        "more than four margins stand at the edge. Right: Pass@k on held-out questions, means over seeds "
        "with 95% t-intervals."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("demo",),
)
