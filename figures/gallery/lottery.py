"""The lottery: how far luck drives equal right answers apart without a KL, predicted and measured (G3-G5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from scipy.special import expit, logit
from scipy.stats import chi2, norm

from dph_theory.support.table import Table

from ..figure import Figure, FigureConfig
from ..records import Array, LawRun, Records
from ..style import theme

EXPERIMENT = "drift"
BASELINES: dict[str, dict[str, Any]] = {
    "none": {"color": theme.VERMILLION, "marker": "o"},
    "mean": {"color": theme.BLUE, "marker": "s"},
    "leave_one_out": {"color": theme.SKY, "marker": "^"},
    "one": {"color": theme.GREEN, "marker": "D"},
}
"""What is subtracted from verdicts, by name."""
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class LotteryConfig(FigureConfig):
    """Settings with at least so many seeds have their whole distribution drawn."""

    many: int = 32


@dataclass(frozen=True, kw_only=True)
class LotterySetting:
    """Runs that differ by seed alone: the share of the base's favourite among right answers at their end.

    predicted, measured: the deviation of its log odds, to first order along the noiseless twin, and over
    seeds with a 95% interval of chi squared; at: the twin's own log odds. frozen_kernel, tabular_formula:
    what cruder accounts predict, None where they do not apply.
    """

    words: str
    baseline: str
    shares: Array
    at: float
    predicted: float
    frozen_kernel: float | None
    tabular_formula: float | None
    measured: float
    interval: tuple[float, float]
    validity: float
    twin_validity: float


@dataclass(frozen=True, kw_only=True)
class LotteryNumbers:
    """Every setting of the experiment."""

    settings: tuple[LotterySetting, ...]


def compute(config: LotteryConfig, records: Records) -> LotteryNumbers:
    """The settings, those with most seeds first."""
    groups: dict[tuple[Any, ...], list[LawRun]] = {}
    for run in records.laws.of(EXPERIMENT):
        of = (
            run.task,
            run.optimiser,
            run.baseline,
            run.scale,
            run.group_size,
            run.constant,
            run.learning_rate,
        )
        groups.setdefault(of, []).append(run)
    found = [_setting(runs) for runs in groups.values() if len(runs) > 2]
    return LotteryNumbers(settings=tuple(sorted(found, key=lambda setting: -len(setting.shares))))


def _setting(runs: Sequence[LawRun]) -> LotterySetting:
    first = runs[0]
    shares = np.array([run.favourite_share for run in runs], dtype=float)
    measured, free = float(logit(shares).std(ddof=1)), len(runs) - 1
    low, high = np.sqrt(free / chi2.ppf([(1 + LEVEL) / 2, (1 - LEVEL) / 2], free)) * measured
    words = [first.task.replace("lottery-", "base "), {"sgd": "SGD", "adam": "Adam"}[first.optimiser]]
    words += [f"{first.groups} x {first.group_size}"] if first.groups > 1 else []
    words += ["divided"] if first.scale == "group" else []
    words += [] if first.constant else ["falling rate"]
    return LotterySetting(
        words=", ".join(words),
        baseline=first.baseline,
        shares=shares,
        at=float(logit(first.twin_favourite_share or 0.5)),
        predicted=first.twin_favourite_odds_deviation or 0.0,
        frozen_kernel=first.twin_frozen_kernel,
        tabular_formula=first.twin_tabular_formula,
        measured=measured,
        interval=(float(low), float(high)),
        validity=float(np.mean([run.validity for run in runs])),
        twin_validity=first.twin_validity or 0.0,
    )


def table(results: LotteryNumbers) -> Table:
    """Each setting's deviation, predicted and measured, and where the interval lies."""
    predicted = ("predicted", "frozen kernel", "tabular formula")
    head = ("setting", "baseline", "seeds", *predicted, "measured", "from", "to", "pass rate", "twin's")
    rows = [
        (
            s.words,
            s.baseline,
            len(s.shares),
            s.predicted,
            s.frozen_kernel,
            s.tabular_formula,
            s.measured,
            *s.interval,
            s.validity,
            s.twin_validity,
        )
        for s in results.settings
    ]
    return Table.of(head, rows)


def draw(config: LotteryConfig, results: LotteryNumbers) -> Drawing:
    """Shares over seeds against the predicted distribution; deviations predicted against measured."""
    drawing, (left, right) = theme.new(height=3.2, ncols=2)
    many = [setting for setting in results.settings if len(setting.shares) >= config.many]
    looks: tuple[tuple[str, Any], ...] = (
        (theme.BLACK, "--"),
        (theme.VERMILLION, ":"),
        (theme.SKY, "-."),
        (theme.PURPLE, (0, (6, 1))),
    )
    for setting, (color, style) in zip(many, looks, strict=False):
        _distribution(left, setting, color, style)
    left.set(
        xlabel="share of one of two equal right answers",
        ylabel="share of seeds below",
        title="Where seeds end: steps seen, lines foreseen",
    )
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22))
    for name, how in BASELINES.items():
        of = [setting for setting in results.settings if setting.baseline == name]
        if not of:
            continue
        places = [setting.predicted for setting in of]
        right.vlines(places, *zip(*(setting.interval for setting in of), strict=True), color=how["color"])
        label = f"baseline {name.replace('_', ' ')}"
        right.plot(places, [setting.measured for setting in of], linestyle="none", label=label, **how)
    edges = [value for setting in results.settings for value in (setting.predicted, *setting.interval)]
    line = np.array([min(edges) / 1.3, max(edges) * 1.3])
    right.plot(line, line, color=theme.GREY, linewidth=0.8)
    right.set(xscale="log", yscale="log", xlabel="deviation predicted", ylabel="deviation over seeds")
    right.set_title("Spread of the log odds of that share")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    return drawing


def _distribution(axes: Axes, setting: LotterySetting, color: str, style: Any) -> None:
    """Steps of the seeds, and the line of a log odds that is normal with the predicted deviation."""
    shares = np.sort(setting.shares)
    axes.step(shares, (np.arange(len(shares)) + 1) / len(shares), where="post", color=color, linewidth=0.9)
    odds = setting.at + np.linspace(-4, 4, 200) * setting.predicted
    line = norm.cdf(odds, setting.at, setting.predicted)
    axes.plot(expit(odds), line, linestyle=style, color=color, label=setting.words)


FIGURE = Figure(
    name="lottery",
    title="Without a KL luck alone drives equal right answers apart, as far as predicted",
    caption=(
        "A small Llama trained by TRL without a KL on answers of one token, of which two (or four) are right "
        "and equally likely, up to a pass rate of about .9: the exact objective keeps them equal, sampling "
        "does not. Left: the share of one of them over seeds (steps), and the distribution predicted before "
        "the runs from one noiseless training and its adjoint (lines). Right: deviations of its log odds, "
        "measured with 95% intervals against predicted, by what is subtracted from the verdicts; where "
        "predictions agree, the measured deviation is still mostly the larger one."
    ),
    results=LotteryNumbers,
    compute=compute,
    draw=draw,
    table=table,
    config=LotteryConfig(),
    quick=LotteryConfig(),
    needs=("laws",),
)
