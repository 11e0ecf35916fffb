"""Along training: what Pass@k loses, and the excess KL that tells it, in both models."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import probability_interval
from toy_lm import strategies, styles
from toy_lm.styles.results import Curve

from ..figure import Figure
from ..look import seeds, theme
from ..results.experiments import Record

STRATEGIES = ("GRPO", "DPH-F", "DPH-JS", "reverse KL on D_pef")
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")


def compute(config: Mapping[str, Any], records: Mapping[str, Record]) -> dict[str, Any]:
    """Pass@k and excess KL along training, exact for strategies, over seeds for the tiny transformer."""
    run_config, exact = strategies.read(records["strategies"])
    tiny = styles.read(records["styles"])
    named = {name: exact.method(name) for name in STRATEGIES}
    curves: dict[str, list[Curve]] = {}
    for run in tiny.of_group("main"):
        if run.name in STYLES:
            curves.setdefault(run.name, []).append(run.curve)
    return {
        "strategies": {
            "k": run_config.coverage_draws,
            "fall": run_config.fall,
            "step": named["GRPO"].step,
            "curves": {
                name: {"pass_at_k": method.pass_at_k_curve, "excess_kl": method.excess_kl_curve}
                for name, method in named.items()
            },
            "leads": [asdict(lead) | {"lead": lead.lead} for lead in named["GRPO"].leads],
        },
        "styles": {
            "k": 8,
            "update": next(iter(curves.values()))[0].update,
            "seeds": len(tiny.bases),
            "curves": {name: _over_seeds(of) for name, of in curves.items()},
        },
    }


def _over_seeds(curves: Sequence[Curve]) -> dict[str, Any]:
    return {
        "pass_at_k": seeds.over_seeds([curve.pass_at_8 for curve in curves], probability_interval),
        "excess_kl": seeds.over_seeds([curve.excess for curve in curves]),
    }


def findings(results: Mapping[str, Any]) -> list[str]:
    """Where the curves end, and how early the meter warned."""
    exact, tiny = results["strategies"], results["styles"]
    early = [lead for lead in exact["leads"] if lead["lead"] is not None and lead["lead"] > 0]
    ends = (
        f"{name} {found['pass_at_k']['mean'][0]:.3f} to {found['pass_at_k']['mean'][-1]:.3f} (excess KL "
        f"{found['excess_kl']['mean'][-1]:.3f})"
        for name, found in tiny["curves"].items()
    )
    said = [f"Tiny transformer, Pass@{tiny['k']} on training prompts: {', '.join(ends)}."]
    if early:
        warnings = ", ".join(f"{lead['rise']:g} nats by {lead['lead']}" for lead in early)
        said.append(
            f"Under GRPO on strategies the rise of the excess KL comes before the fall of Pass@{exact['k']} "
            f"by {exact['fall']:g}, at a threshold of {warnings} steps."
        )
    return said


def draw(record: Mapping[str, Any]) -> Drawing:
    """Columns: the two models; rows: Pass@k and excess KL."""
    results = record["results"]
    exact, tiny = results["strategies"], results["styles"]
    drawing, axes = theme.new(height=4.2, nrows=2, ncols=2, sharex="col")
    for row, key in enumerate(("pass_at_k", "excess_kl")):
        for name, found in exact["curves"].items():
            known = {"mean": found[key], "low": None}
            seeds.curve(axes[row, 0], exact["step"], known, name, marker="none")
        for name, found in tiny["curves"].items():
            seeds.curve(axes[row, 1], tiny["update"], found[key], name, markevery=2)
    axes[0, 0].set(title="Strategies (exact)", ylabel=f"Pass@{exact['k']}")
    axes[0, 1].set(title="Tiny transformer", ylabel=f"Pass@{tiny['k']}")
    for ax in axes[1]:
        ax.set_ylabel("excess KL in nats")
    axes[1, 0].set(xscale="symlog", xlabel="gradient step", xlim=(0, exact["step"][-1]))
    axes[1, 1].set_xlabel("update")
    _warnings(axes[:, 0], exact)
    seeds.legend(drawing, axes.ravel(), 4)
    return drawing


def _warnings(axes: Sequence[Axes], exact: Mapping[str, Any]) -> None:
    """Under GRPO: when coverage has fallen, and when the meter rose by each threshold."""
    coverage, meter = axes
    leads = exact["leads"]
    color = theme.METHODS["GRPO"]["color"]
    if leads[0]["coverage_step"] is not None:
        for ax in axes:
            ax.axvline(leads[0]["coverage_step"], color=color, linewidth=0.7, linestyle=":")
        coverage.annotate(
            f"GRPO has lost\n{exact['fall']:g} of Pass@{exact['k']}",
            (leads[0]["coverage_step"], 0.06),
            (-4, 0),
            xycoords=coverage.get_xaxis_transform(),
            textcoords="offset points",
            ha="right",
            fontsize=6.5,
            color=color,
        )
    warned = [lead for lead in leads if lead["meter_step"] is not None]
    meter.plot(
        [lead["meter_step"] for lead in warned], [lead["rise"] for lead in warned], "s", color=color,
        markerfacecolor="white", linestyle="none",
    )  # fmt: skip
    if warned:
        meter.annotate(
            "warnings", (warned[-1]["meter_step"], warned[-1]["rise"]), (-8, 8), ha="right", fontsize=6.5,
            textcoords="offset points", color=color,
        )  # fmt: skip


FIGURE = Figure(
    name="training_curves",
    title="Pass@k and excess KL along training",
    caption=(
        "Top: Pass@k; bottom: excess KL, the part of KL(policy || base) that the policy's pass rate did "
        "not need (A8): the collapse meter. Means over prompts. Left: strategies, exact, with the step at "
        "which GRPO has lost 0.05 of its best Pass@16 (dotted) and those at which its excess KL has risen "
        "by the meter's thresholds (open squares). Right: the tiny transformer on its training prompts, "
        "means over seeds with 95% intervals."
    ),
    compute=compute,
    draw=draw,
    findings=findings,
    needs=("strategies", "styles"),
)
