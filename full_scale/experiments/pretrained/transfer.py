"""Does the kernel of the base predict the effect of training on other prompts of the same kind?

Before a run the linearised model is trained by the run's own method, without any fit. Not covered: the
change of the kernel during training, except in one run; seeds of the sketch of gradients; partially listed
answers. Runs of the methods and of the anchors are predicted as well; declared here are other prompts,
optimisers and ranks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table

from ..outcome import Settings
from .anchors import PRODUCTS, SEEDS, SUMS, WIDE
from .runs import HELD_OUT, MIXTURE, FinishedOpenRun, OpenRun, Outcomes, pass_at

KS = (1, 16, 256)


def declared() -> list[OpenRun]:
    """Runs whose forecast is tested: other prompts, optimisers, rates, ranks, and a kernel measured later."""
    grpo = partial(OpenRun, "transfer", method="GRPO")
    forward = partial(grpo, kl="k3", coefficient=0.3)
    kinds = [grpo(SUMS), forward(SUMS), grpo(PRODUCTS), forward(PRODUCTS)]
    once = [
        grpo(PRODUCTS, kl="k2", coefficient=0.3),
        OpenRun("transfer", PRODUCTS, "KL-DPG"),
        grpo(MIXTURE, optimiser="sgd", learning_rate=1e-3, steps=40),
        grpo(MIXTURE, learning_rate=1e-6, steps=100),
        grpo(MIXTURE, rank=8, learning_rate=2e-4),
        forward(MIXTURE, rank=8, learning_rate=2e-4),
        grpo(MIXTURE, measured_after=10),
    ]
    settings = [*product(kinds, [SEEDS]), *product(once, [1]), (grpo(WIDE), 2)]
    return [replace(run, seed=seed) for run, seeds in settings for seed in range(seeds)]


@dataclass(frozen=True)
class KernelSettings(Settings):
    """Settings of a kernel: prompts and their held-out halves, at the base or so many steps later."""

    tasks: tuple[str, ...]
    rank: int | None = None
    measured_after: int = 0
    seed: int | None = None  # Of the steps before the measurement.
    model: str | None = None
    metric: str = "euclidean"

    @classmethod
    def of_run(cls, run: OpenRun, metric: str = "euclidean") -> "KernelSettings":
        """Settings of the kernel by which a run is predicted."""
        seed = run.seed if run.measured_after else None
        return cls(run.tasks, run.rank, run.measured_after, seed, run.model, metric)


@dataclass(frozen=True)
class TransferForecast:
    """Predicted end of a run: Pass@k at KS on trained prompts, and on held-out ones."""

    trained: tuple[float, ...]
    held_out: tuple[float, ...]
    rates: tuple[float, ...]  # Mean pass rates of the prompts of the kernel, in its order.
    anchors: tuple[int, ...] = ()
    """Anchored texts of the first task's held-out half, which do not count as held out."""


@dataclass(frozen=True)
class ForecastComparison:
    """Runs of one setting: predicted and measured mean held-out Pass@k at KS."""

    setting: OpenRun
    seeds: int
    base: tuple[float, ...]
    forecast: tuple[float, ...]
    measured: tuple[float, ...]
    trained_forecast: tuple[float, ...]
    trained_measured: tuple[float, ...]
    measured_spread: tuple[float, ...]
    adam_forecast: tuple[float, ...] = ()  # By the kernel of Adam's steps, or empty.


def comparisons(
    outcomes: Outcomes, forecasts: Mapping[str, TransferForecast], of_adam: Mapping[str, TransferForecast]
) -> list[ForecastComparison]:
    """Forecast and measured Pass@k of the finished runs that have a forecast, one entry per setting."""
    groups: dict[OpenRun, list[FinishedOpenRun]] = {}
    for outcome in outcomes:
        if outcome.run.id in forecasts:
            groups.setdefault(outcome.run.setting, []).append(outcome)
    rows = []
    for setting, runs in groups.items():
        before = [forecasts[outcome.run.id] for outcome in runs]
        by_adam = [of_adam[outcome.run.id] for outcome in runs if outcome.run.id in of_adam]
        base, measured = (_free_pass_at(runs, before, point) for point in (0, -1))
        spread = measured.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(len(KS))
        trained = [[pass_at(outcome.last.tasks, setting.tasks[:1], k) for k in KS] for outcome in runs]
        rows.append(
            ForecastComparison(
                setting=setting, seeds=len(runs), base=mean_of_rows(base), measured=mean_of_rows(measured),
                measured_spread=tuple(spread.tolist()), trained_measured=mean_of_rows(trained),
                forecast=mean_of_rows([forecast.held_out for forecast in before]),
                trained_forecast=mean_of_rows([forecast.trained for forecast in before]),
                adam_forecast=mean_of_rows([forecast.held_out for forecast in by_adam]) if by_adam else (),
            )
        )  # fmt: skip
    return rows


def forecast_errors(compared: Sequence[ForecastComparison]) -> list[dict[str, Any]]:
    """RMS errors of held-out Pass@k at KS, by model, experiment, task and rate, for forecasts and rivals.

    Forecasts are those of the plain kernel and of Adam's kernel, where all settings have both. Rivals are no
    change (which each prompt alone predicts too), and one answer for every prompt, whose Pass@k is its
    Pass@1. The noise of the measured means over seeds stands beside them.
    """
    groups: dict[tuple[Any, ...], list[ForecastComparison]] = {}
    for row in compared:
        run = row.setting
        if run.measured_after == 0:
            task = run.tasks[0] + (", solved ones beside" if len(run.tasks) > 1 else "")
            key = run.model, run.experiment, task, run.optimiser, run.learning_rate
            groups.setdefault(key, []).append(row)
    fields = ("model", "experiment", "task", "optimiser", "learning_rate")
    rows = []
    for key, settings in groups.items():
        measured = np.array([row.measured for row in settings])
        spread = np.array([row.measured_spread for row in settings])
        one_answer = [[row.base[0]] * len(KS) for row in settings]
        rivals = {"no change": [row.base for row in settings], "one answer": one_answer}
        kernels = {"kernel": [row.forecast for row in settings]}
        if all(row.adam_forecast for row in settings):
            kernels["kernel of Adam's steps"] = [row.adam_forecast for row in settings]
        errors = {
            name: np.sqrt(((np.array(forecast) - measured) ** 2).mean(axis=0)).tolist()
            for name, forecast in {**kernels, **rivals}.items()
        }
        squares = spread**2 / np.array([[row.seeds] for row in settings])
        errors["noise of seeds"] = np.sqrt(squares.mean(axis=0)).tolist()
        rows.append(dict(zip(fields, key, strict=True)) | {"settings": len(settings), "errors": errors})
    return rows


def mean_of_rows(values: np.ndarray | Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Mean over the first axis, as a tuple with one entry per column."""
    return tuple(np.asarray(values).mean(axis=0).tolist())


def _free_pass_at(outcomes: Outcomes, forecasts: Sequence[TransferForecast], point: int) -> np.ndarray:
    """Pass@k on held-out texts without anchors, (runs, len(KS)), at the course's `point` (0 or -1)."""
    task = outcomes[0].run.tasks[0] + HELD_OUT
    policies = zip([outcome.course[point].tasks for outcome in outcomes], forecasts, strict=True)
    return np.array([[pass_at(p, [task], k, without=f.anchors) for k in KS] for p, f in policies])


def table(compared: Sequence[ForecastComparison]) -> Table:
    """One row per setting: held-out Pass@k of the base, predicted and measured."""
    rows: list[tuple[str | float, ...]] = []
    for row in compared:
        numbers = zip(row.base, row.forecast, row.measured, strict=True)
        cells: list[float] = [round(value, 3) for at_k in numbers for value in at_k]
        rows.append((row.setting.tasks[0], settings_text(vars(row.setting)), row.seeds, *cells))
    heads = [f"@{k} {what}" for k in KS for what in ("base", "forecast", "found")]
    return Table.from_rows(("held out", "setting", "seeds", *heads), rows)
