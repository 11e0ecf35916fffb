"""Along training: Pass@k, and the excess KL that warns of its fall, in both models."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import probability_interval
from dph_theory.support.table import Table
from toy_lm.strategies.results import Lead
from toy_lm.styles.results import Curve

from ..figure import Figure, FigureConfig
from ..records import Records
from ..style import seeds, theme
from ..style.seeds import Means

STRATEGIES = ("GRPO", "DPH-F", "DPH-JS", "reverse KL on D_pef")
STYLES = ("GRPO", "DAPO", "RKL", "DPH-F", "DPH-JS")


@dataclass(frozen=True, kw_only=True)
class TrainingCurvesCurves:
    """Along training, at these steps."""

    pass_at_k: Means
    excess_kl: Means


@dataclass(frozen=True, kw_only=True)
class TrainingCurvesModel:
    """The curves of a model by method, after these steps; k is that of Pass@k."""

    k: int
    step: tuple[int, ...]
    curves: dict[str, TrainingCurvesCurves]


@dataclass(frozen=True, kw_only=True)
class TrainingCurvesNumbers:
    """Both models; of strategies, what counts as a fall of Pass@k, and the meter's warnings under GRPO."""

    strategies: TrainingCurvesModel
    styles: TrainingCurvesModel
    fall: float
    leads: tuple[Lead, ...]


def compute(config: FigureConfig, records: Records) -> TrainingCurvesNumbers:
    """Pass@k and excess KL along training, exact for strategies, over seeds for the tiny transformer."""
    run_config, exact = records.strategies
    named = {name: exact.method(name) for name in STRATEGIES}
    runs = records.styles.by_method(STYLES)
    return TrainingCurvesNumbers(
        strategies=TrainingCurvesModel(
            k=run_config.coverage_draws,
            step=named["GRPO"].step,
            curves={
                name: TrainingCurvesCurves(
                    pass_at_k=Means(np.array(method.pass_at_k_curve)),
                    excess_kl=Means(np.array(method.excess_kl_curve)),
                )
                for name, method in named.items()
            },
        ),
        styles=TrainingCurvesModel(
            k=8,
            step=next(iter(runs.values()))[0].curve.update,
            curves={name: _over_seeds([run.curve for run in of]) for name, of in runs.items()},
        ),
        fall=run_config.fall,
        leads=named["GRPO"].leads,
    )


def _over_seeds(curves: Sequence[Curve]) -> TrainingCurvesCurves:
    return TrainingCurvesCurves(
        pass_at_k=seeds.over_seeds([curve.pass_at_8 for curve in curves], probability_interval),
        excess_kl=seeds.over_seeds([curve.excess for curve in curves]),
    )


def table(results: TrainingCurvesNumbers) -> Table:
    """Where the curves begin and end."""
    head = ("model", "method", "Pass@k at the start", "Pass@k at the end", "excess KL at the end")
    models = {
        f"strategies, k = {results.strategies.k}": results.strategies,
        f"tiny transformer, k = {results.styles.k}": results.styles,
    }
    rows = []
    for model, of in models.items():
        for name, curves in of.curves.items():
            start, end = curves.pass_at_k.mean[[0, -1]].tolist()
            rows.append((model, name, start, end, float(curves.excess_kl.mean[-1])))
    return Table.of(head, rows)


def draw(config: FigureConfig, results: TrainingCurvesNumbers) -> Drawing:
    """Columns: the two models; rows: Pass@k and excess KL."""
    exact, tiny = results.strategies, results.styles
    drawing, axes = theme.new(height=4.2, nrows=2, ncols=2, sharex="col")
    for row, measure in zip(axes, ("pass_at_k", "excess_kl"), strict=True):
        for name, found in exact.curves.items():
            seeds.curve(row[0], exact.step, getattr(found, measure), name, marker="none")
        for place, (name, found) in enumerate(tiny.curves.items()):
            seen = (place, len(tiny.curves))
            seeds.curve(row[1], tiny.step, getattr(found, measure), name, beside=0, markevery=seen)
    axes[0, 0].set(title="Strategies, exact", ylabel=f"Pass@{exact.k}")
    axes[0, 1].set(title="Tiny transformer, over seeds", ylabel=f"Pass@{tiny.k}")
    for ax in axes[1]:
        ax.set_ylabel("excess KL in nats")
    axes[1, 0].set(xscale="symlog", xlabel="gradient step", xlim=(0, exact.step[-1]))
    axes[1, 1].set_xlabel("update")
    _warnings(axes[:, 0], results)
    seeds.legend(drawing, axes.ravel(), 4)
    return drawing


def _warnings(axes: Sequence[Axes], results: TrainingCurvesNumbers) -> None:
    """Under GRPO: when coverage has fallen, and when the meter rose by each threshold."""
    coverage, meter = axes
    fallen, color = results.leads[0].coverage_step, theme.METHODS["GRPO"]["color"]
    if fallen is not None:
        for ax in axes:
            ax.axvline(fallen, color=color, linewidth=0.7, linestyle=":")
        coverage.annotate(
            f"GRPO has lost\n{results.fall:g} of Pass@{results.strategies.k}",
            (fallen, 0.06),
            (-4, 0),
            xycoords=coverage.get_xaxis_transform(),
            textcoords="offset points",
            ha="right",
            fontsize=theme.points(6.5),
            color=color,
        )
    warned = [(lead.meter_step, lead.rise) for lead in results.leads if lead.meter_step is not None]
    if warned:
        meter.plot(*zip(*warned, strict=True), "s", color=color, markerfacecolor="white")
        how = {"ha": "right", "fontsize": theme.points(6.5), "textcoords": "offset points", "color": color}
        meter.annotate("warnings", warned[-1], (-8, 8), **how)


FIGURE = Figure(
    name="training_curves",
    title="Under GRPO and DAPO excess KL rises before Pass@k falls",
    caption=(
        "Top: Pass@k; bottom: excess KL, the part of KL(policy || base) that the policy's pass rate did not "
        "need (A8), which is the collapse meter; means over prompts. Left: strategies, exact, with the step "
        "at which GRPO has lost 0.05 of its best Pass@16 (dotted) and those at which its excess KL has risen "
        "by the meter's thresholds (open squares). Right: the tiny transformer on its training prompts, "
        "means over seeds with 95% intervals."
    ),
    results=TrainingCurvesNumbers,
    compute=compute,
    draw=draw,
    table=table,
    needs=("strategies", "styles"),
)
