"""Without a KL noise decides which correct answer wins: its std over seeds, by one expected-gradient run.

Entries: `sampling_noise`. Left out: more than one prompt a run, and answers of several tokens; the Adam of
other runs; a third answer, which the log odds of the two likeliest do not see; noise that is not small, of
which the adjoint is the first order.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import fmean, stdev

import torch
from scipy.stats import chi2
from torch import Tensor

from dph_theory.finite_training import SmallNoiseWarning, drift_deviation
from dph_theory.finite_training.training import (
    DifferentiableTraining,
    Draws,
    Update,
    group_baseline,
    spread_along,
)
from dph_theory.support.table import Table

from .losses import baseline_loss
from .open_prompts import LogProbs
from .runs import ANSWERS, BASELINES, FinishedOpenRun, OpenRun, Outcomes, of_experiment
from .training import PretrainedLlama, descend, pretrained_llama, prompts_of, whole_answers

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
    validity: float
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


def noise_forecast(path: str, run: OpenRun) -> NoiseForecast:
    """What is said of the run's prompt."""
    torch.set_num_threads(1)
    # Slopes of slopes need attention that is not fused.
    llama, (name,) = PretrainedLlama(path, attention="eager"), run.tasks
    reading = llama.reading([name])

    def log_probs(model: torch.nn.Module) -> Tensor:
        return reading.log_probs(model)[name][0].reshape(-1)

    with torch.no_grad():
        base = log_probs(llama.model)
    words, valid = reading.word_ids(name), reading.valid(name)[0]
    right = torch.zeros_like(base).index_fill(0, words[valid], 1.0)
    places = torch.where(valid, base[words], -torch.inf).topk(2).indices
    first, second = words[places].tolist()

    def odds(log_p: Tensor) -> Tensor:
        return log_p[first] - log_p[second]

    def spread(steps: int, rate: float) -> tuple[Mapping[str, float], Tensor]:
        updates = {name: update_with_baseline(right, constant) for name, constant in BASELINES.items()}
        training = DifferentiableTraining(
            llama.model, log_probs, updates["none"], ANSWERS, "sgd", lambda step: rate
        )
        along = spread_along(training, steps, {"odds": odds}, checkpoint=4, other_updates=updates)
        deviations = {baseline: by_measure["odds"] for baseline, by_measure in along.other_deviations.items()}
        return deviations, along.log_probs

    deviations, ended = spread(run.steps, run.learning_rate)
    slopes = torch.autograd.grad(odds(log_probs(llama.model)), [*llama.model.parameters()])
    # Logits that move each alone have a log odds whose slope has a square of 2.
    step = run.learning_rate * sum(float(slope.square().sum()) for slope in slopes) / 2
    start, stop = (float((log_p.exp() * right).sum()) for log_p in (base, ended))
    # The rate cancels: a tiny one, so that the adjoint is that of the base.
    of_a_step, _ = spread(1, 1e-9)
    return NoiseForecast(
        pair=(llama.tokenizer.decode(first).strip(), llama.tokenizer.decode(second).strip()),
        places=(int(places[0]), int(places[1])), validity=start, ends=(stop, float(odds(ended))),
        deviations=deviations, tabular=_tabular(right, start, stop, step),
        best_constant=_least(deviations), best_of_a_step=_least(of_a_step),
    )  # fmt: skip


def _tabular(right: Tensor, start: float, stop: float, step: float) -> dict[str, float]:
    """The deviations as if answers were unrelated, of the baselines that the formula knows."""
    valid, formulas = int(right.sum()), {"mean of the others": "mean", "none": "none", "one": "one"}
    deviation = partial(drift_deviation, start, stop, valid=valid, invalid=len(right) - valid, step=step)
    with warnings.catch_warnings():
        # The rival's noise is not small where it is far off: it is compared as it is.
        warnings.simplefilter("ignore", SmallNoiseWarning)
        return {
            name: float(deviation(answers=ANSWERS, baseline=formula)) for name, formula in formulas.items()
        }


def update_with_baseline(right: Tensor, constant: float | None) -> Update:
    """The update of a reward less a constant, or less the mean of the others of its group."""

    def draws(log_p: Tensor, step: int) -> Draws:
        p = log_p.exp()[None]
        entries = torch.arange(len(log_p))[None, :, None]
        if constant is not None:
            return Draws(p, entries, (right - constant)[None, :, None])
        centred = (right - (p * right).sum())[None, :, None]
        noise = group_baseline(p, right[None], ANSWERS - 1)
        return Draws(p, entries, centred, torch.ones_like(centred), *noise)

    return draws


def _least(deviations: Mapping[str, float]) -> float:
    """Where the variance, a parabola in the constant, is least: from 0, a half and 1."""
    variance = {
        constant: deviations[name] ** 2 for name, constant in BASELINES.items() if constant is not None
    }
    curvature = 2 * (variance[0.0] - 2 * variance[0.5] + variance[1.0])
    return 0.5 - (variance[1.0] - variance[0.0]) / (2 * curvature)


def train_with_baseline(path: str, run: OpenRun) -> FinishedOpenRun:
    """The policy gradient on samples of one prompt, with the run's baseline."""
    llama, (name,) = pretrained_llama(path), run.tasks
    reading = llama.reading(run.tasks)
    generator = torch.Generator().manual_seed(run.seed or 0)
    valid, baseline = prompts_of(reading, llama.base(reading), generator).valid, BASELINES[run.baseline or ""]

    def loss(step: int, log_probs: Mapping[str, LogProbs]) -> Tensor:
        answers = whole_answers(log_probs[name], reading.word_ids(name))
        return baseline_loss(answers, valid, baseline, size=ANSWERS, generator=generator)

    return descend(llama, run, loss, reading, reading, every=run.steps)


@dataclass(frozen=True)
class NoiseVerdict:
    """Over the seeds of one prompt and baseline: what was predicted, and what came."""

    task: str
    baseline: str
    seeds: int
    validity: float
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
        first, second = forecast.places
        freedom, predicted = len(ends) - 1, forecast.deviations[baseline]
        measured = stdev(math.log(end.first_shares[0][first] / end.first_shares[0][second]) for end in ends)
        low, high = (measured * math.sqrt(freedom / chi2.ppf(tail, freedom)) for tail in (0.95, 0.05))
        verdict = "held" if low <= predicted <= high else "missed"
        rates, rival = fmean(end.validity[0] for end in ends), forecast.tabular.get(baseline)
        verdicts.append(
            NoiseVerdict(task=task, baseline=baseline, seeds=len(ends), validity=rates, predicted=predicted,
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
