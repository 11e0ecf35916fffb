"""Without a KL noise decides which correct answer wins: its std over seeds from one expected-gradient run.

Entries: `sampling_noise`. Not covered: more than one prompt per run, and answers of several tokens; the Adam
of other runs; a third answer, which the log odds of the two likeliest ignore; large noise, because the
adjoint is of first order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean, stdev

from dph_theory.support.table import Table

from .runs import BASELINES, OpenRun, Outcomes, of_experiment

TASKS = ("weekdays", "colours", "fruits")
SEEDS = 32


FIRST = OpenRun("noise", ("weekdays",), "policy gradient", baseline="none", optimiser="sgd",
                learning_rate=1.5e-4, steps=16, seed=0)  # fmt: skip


def declared() -> list[OpenRun]:
    """Policy gradient on each prompt by itself under each baseline, seeds outermost."""
    return [
        replace(FIRST, tasks=(task,), baseline=baseline, seed=seed)
        for seed, task, baseline in product(range(SEEDS), TASKS, BASELINES)
    ]


@dataclass(frozen=True)
class NoiseForecast:
    """Forecast for a prompt before its runs; the baselines share one expected-gradient run."""

    pair: tuple[str, str]
    """The base's two likeliest correct answers, whose log odds spread over seeds."""
    places: tuple[int, int]  # Their indices among the words of the task.
    pass_rate: float  # Of the base.
    ends: tuple[float, float]  # Pass rate and log odds at the end of the expected-gradient run.
    deviations: Mapping[str, float]  # Std of the log odds over seeds, by baseline.
    tabular: Mapping[str, float]
    """Rival: every answer's logit moves alone; by baseline, if the formula covers it."""
    best_constant: float  # Constant baseline of least deviation along the training.
    best_of_a_step: float  # Best constant for one step at the base, c*.


@dataclass(frozen=True)
class NoiseVerdict:
    """Predicted and measured deviation over the seeds of one prompt and baseline."""

    task: str
    baseline: str
    seeds: int
    pass_rate: float  # Mean of the runs' ends.
    predicted: float
    tabular: float | None
    measured: float
    low: float
    high: float  # 90% interval of the deviation, for normal log odds.
    verdict: str  # Does the interval contain the prediction?


def noise_verdicts(forecasts: Mapping[str, NoiseForecast], outcomes: Outcomes) -> list[NoiseVerdict]:
    """Compare each prompt and baseline with at least two seeds."""
    verdicts = []
    for (task, forecast), baseline in product(forecasts.items(), BASELINES):
        ends = [
            outcome.course[-1].tasks[task]
            for outcome in of_experiment("noise", outcomes)
            if outcome.run.tasks == (task,) and outcome.run.baseline == baseline
        ]
        if len(ends) < 2:
            continue
        from scipy.stats import chi2  # Slow to import, and not needed to list the declared runs.

        first, second = forecast.places
        freedom, predicted = len(ends) - 1, forecast.deviations[baseline]
        measured = stdev(math.log(end.first_shares[0][first] / end.first_shares[0][second]) for end in ends)
        low, high = (measured * math.sqrt(freedom / chi2.ppf(tail, freedom)) for tail in (0.95, 0.05))
        verdict = "held" if low <= predicted <= high else "missed"
        rates, rival = fmean(end.pass_rate[0] for end in ends), forecast.tabular.get(baseline)
        verdicts.append(
            NoiseVerdict(task=task, baseline=baseline, seeds=len(ends), pass_rate=rates, predicted=predicted,
                         tabular=rival, measured=measured, low=low, high=high, verdict=verdict)
        )  # fmt: skip
    return verdicts


def table(verdicts: Sequence[NoiseVerdict]) -> Table:
    """Predicted and measured deviations."""
    rows = [
        (row.task, row.baseline, round(row.predicted, 4),
         None if row.tabular is None else round(row.tabular, 4), round(row.measured, 4),
         f"{row.low:.4f} to {row.high:.4f}", row.verdict)
        for row in verdicts
    ]  # fmt: skip
    titles = ("prompt", "baseline", "predicted", "if unrelated", "over seeds", "90% interval", "verdict")
    return Table.from_rows(titles, rows)
