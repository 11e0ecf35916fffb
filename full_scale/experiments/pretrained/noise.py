"""Without a KL noise decides which correct answer wins: its std over seeds, by one expected-gradient run.

Entries: `sampling_noise`. Left out: more than one prompt a run, and answers of several tokens; the Adam of
other runs; a third answer, which the log odds of the two likeliest do not see; noise that is not small, of
which the adjoint is the first order.
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
    """The policy gradient on each prompt by itself under each baseline, seeds outermost."""
    return [
        replace(FIRST, tasks=(task,), baseline=baseline, seed=seed)
        for seed, task, baseline in product(range(SEEDS), TASKS, BASELINES)
    ]


@dataclass(frozen=True)
class NoiseForecast:
    """What is said of a prompt before its runs; the baselines share one expected-gradient run."""

    pair: tuple[str, str]
    """The base's two likeliest correct answers, whose log odds spread over seeds."""
    places: tuple[int, int]
    """Theirs among the words of the task."""
    pass_rate: float
    """Of the base."""
    ends: tuple[float, float]
    """The pass rate and the log odds where the expected-gradient run ends."""
    deviations: Mapping[str, float]
    """Of the log odds over seeds, by baseline."""
    tabular: Mapping[str, float]
    """The rival, as if each answer's logit moved alone, by baseline that the formula knows."""
    best_constant: float
    """The constant baseline of least deviation along the training."""
    best_of_a_step: float
    """That of one step at the base, c*."""


@dataclass(frozen=True)
class NoiseVerdict:
    """Over the seeds of one prompt and baseline: what was predicted, and what came."""

    task: str
    baseline: str
    seeds: int
    pass_rate: float
    """The mean of where they end."""
    predicted: float
    tabular: float | None
    measured: float
    low: float
    high: float
    """The 90% interval of the deviation, of normal log odds."""
    verdict: str
    """Whether the prediction lies in it."""


def noise_verdicts(forecasts: Mapping[str, NoiseForecast], outcomes: Outcomes) -> list[NoiseVerdict]:
    """Of each prompt and baseline with two seeds or more."""
    verdicts = []
    for (task, forecast), baseline in product(forecasts.items(), BASELINES):
        ends = [
            outcome.course[-1].tasks[task]
            for outcome in of_experiment("noise", outcomes)
            if outcome.run.tasks == (task,) and outcome.run.baseline == baseline
        ]
        if len(ends) < 2:
            continue
        from scipy.stats import chi2  # Slow to load, and not needed to list what is declared.

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
