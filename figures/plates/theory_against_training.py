"""Theory against training: every prediction of the theory for trained language models, with its margin."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy import stats

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

IN_NATS = frozenset({"excess KL", "KL, worst prompt", "excess KL, worst step", "token sum", "log odds gain"})
"""The predictions about KLs and log odds; the others are about rates."""
VERDICTS: dict[str, dict[str, Any]] = {
    "consistent": {"color": theme.BLUE, "marker": "o"},
    "not enough samples": {"color": theme.GREY, "marker": "D", "markerfacecolor": "white"},
    "inconsistent": {"color": theme.VERMILLION, "marker": "X", "markersize": 6},
}
CONFIDENCE = 0.95


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """The gaps between measurement and prediction by prediction, and Pass@k of each method over seeds."""
    demo = records["demo"]
    results, runs = demo["results"], len(demo["config"]["seeds"])
    claims: dict[str, dict[str, Any]] = {}
    for row in results["rows"]:
        shown = {
            "theory": row["theory"],
            "relation": row["relation"],
            "nats": row["name"] in IN_NATS,
            "rows": [],
        }
        gap = float(row["estimate"]) - float(row["prediction"])
        claims.setdefault(row["name"], shown)["rows"].append(
            {"gap": gap, "margin": float(row["margin"]), "verdict": row["verdict"], "run": row["run"]}
            | {"set": row["set"], "relation": row["relation"]}
        )
    return {
        "set": results["set"],
        "prompts": results["prompts"],
        "seeds": runs,
        "claims": claims,
        "methods": {name: _passes(columns, runs) for name, columns in results["methods"].items()},
    }


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
    """How many predictions hold, fail, or cannot be told."""
    counts = dict.fromkeys(VERDICTS, 0)
    for claim in results["claims"].values():
        for row in claim["rows"]:
            counts[row["verdict"]] += 1
    methods, failed = len(results["methods"]) - 1, _failed(results["claims"])
    return [
        f"Of {sum(counts.values())} predictions for {methods} method{'s' * (methods > 1)} and "
        f"{results['seeds']} seed{'s' * (results['seeds'] > 1)}, {counts['consistent']} are consistent with "
        "what was measured, "
        f"{counts['inconsistent']} are not, and {counts['not enough samples']} had not enough samples.",
        *([f"Not consistent: {'; '.join(failed)}."] if failed else []),
    ]


def _failed(claims: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} ({claim['theory']}) of {row['run']} on {row['set']} prompts, off by {row['gap']:+.3f} with "
        f"a margin of {float(row['margin']):.3f}"
        for name, claim in claims.items()
        for row in claim["rows"]
        if row["verdict"] == "inconsistent"
    ]


def draw(record: Mapping[str, Any]) -> Drawing:
    """Left: gaps in nats and in rates; right: what was trained, as Pass@k."""
    results = record["results"]
    drawing, axes = theme.new(height=3.6, ncols=3, width_ratios=(1.2, 1.2, 1))
    for ax, nats in zip(axes, (True, False), strict=False):
        _gaps(ax, {name: claim for name, claim in results["claims"].items() if claim["nats"] is nats})
        ax.set_xlabel("measured minus predicted, " + ("nats" if nats else "rate"))
    axes[0].set_title("KLs")
    axes[1].set_title("Rates")
    for name, found in results["methods"].items():
        seeds.curve(axes[2], found["k"], found, name)
    axes[2].set_xscale("log", base=2)
    axes[2].set_xticks(found["k"], [str(k) for k in found["k"]])
    axes[2].set(xlabel=r"$k$", ylabel=r"Pass@$k$", title=f"{results['prompts']} new prompts")
    for verdict, how in VERDICTS.items():
        axes[0].plot([], [], linestyle="none", label=verdict, **how)
    seeds.legend(drawing, axes, 4)
    return drawing


def _gaps(ax: Axes, claims: Mapping[str, Any]) -> None:
    """A block a prediction; in it a point for each run and set of prompts, with its margin as a bar."""
    limits = _limits([row for claim in claims.values() for row in claim["rows"]])
    top, ticks = 0.0, []
    least = sum(len(claim["rows"]) for claim in claims.values()) / 12
    for number, claim in enumerate(claims.values()):
        height = max(len(claim["rows"]), least)
        ticks.append(top + height / 2)
        _block(ax, claim["rows"], (top, height), limits)
        ax.axhspan(top, top + height, color=theme.GREY, alpha=0.1 * (number % 2), linewidth=0)
        top += height
    ax.axvline(0, color=theme.BLACK, linewidth=0.7)
    ax.set_yticks(ticks, [f"{name}\n${_sign(claim)}$ ({claim['theory']})" for name, claim in claims.items()])
    ax.set(ylim=(top, 0), xlim=limits)


def _limits(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """What the panel shows: few samples leave some margins so wide that the gaps would be lost."""
    margins = [float(row["margin"]) for row in rows if np.isfinite(float(row["margin"]))]
    usual = 1.5 * float(np.median(margins)) if margins else 0.0
    gaps = [row["gap"] for row in rows]
    return 1.2 * min(*gaps, -usual), 1.2 * max(*gaps, usual)


def _block(
    ax: Axes, rows: Sequence[Mapping[str, Any]], place: tuple[float, float], limits: tuple[float, float]
) -> None:
    top, height = place
    for number, row in enumerate(rows):
        at, how = top + height * (number + 0.5) / len(rows), VERDICTS[row["verdict"]]
        # What leaves the panel is drawn to its edge, an infinite margin too.
        bar = row["gap"] + np.array([-1, 1]) * float(row["margin"])
        ax.plot(np.clip(bar, *limits), [at, at], color=how["color"], linewidth=0.5, alpha=0.6)
        ax.plot(row["gap"], at, linestyle="none", **{"markersize": 2.2, "markeredgewidth": 0.6} | how)


def _sign(claim: Mapping[str, Any]) -> str:
    signs = {">=": r"\geq 0", "==": "= 0"}
    found = {row["relation"] for row in claim["rows"]}
    return r"\,/\,".join(signs[relation] for relation in sorted(found))


FIGURE = Figure(
    name="theory_against_training",
    title="Theory against training",
    caption=(
        "A tiny language model trained on a small text-to-SQL task by each method, held against what the "
        "theory predicts for any run: a point for every run and set of prompts, measured minus predicted, "
        "with the margin within which sampling may move it (three standard deviations, wider for few "
        "prompts and for the worst of many). A prediction >= 0 is violated left of zero by more than the "
        "margin, = 0 on either side. Right: Pass@k on held-out questions, means over seeds with 95% "
        "t-intervals."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("demo",),
)
