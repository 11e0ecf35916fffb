"""Without a KL noise decides which correct answer wins: its std, by one expected-gradient run. Theory: G3."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean, stdev
from typing import Any

import torch
from scipy.stats import chi2
from torch import Tensor

from dph_theory.finite_training import SmallNoiseWarning, drift_deviation
from dph_theory.finite_training.training import Course, Draws, Update, group_baseline, spread_along

from .runs import ANSWERS, BASELINES, OpenRun
from .training import FinishedOpenRun, Lab


@dataclass(frozen=True)
class Lottery:
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
    """The rival, as if each answer's logit moved alone, by baseline that the formula knows. Theory: G3."""
    best_constant: float
    """The constant baseline of least deviation along the training."""
    best_of_a_step: float
    """That of one step at the base, c*. Theory: G4."""


def predicted_lottery(path: str, run: OpenRun) -> Lottery:
    """What is said of the run's prompt."""
    torch.set_num_threads(1)
    # Slopes of slopes need attention that is not fused.
    at, (name,) = Lab(path, attention="eager"), run.tasks
    reading = at.reading([name])

    def log_probs(model: torch.nn.Module) -> Tensor:
        return reading.log_probs(model)[name][0].reshape(-1)

    with torch.no_grad():
        base = log_probs(at.model)
    words, valid = reading.word_ids(name), reading.valid(name)[0]
    right = torch.zeros_like(base).index_fill(0, words[valid], 1.0)
    places = torch.where(valid, base[words], -torch.inf).topk(2).indices
    first, second = words[places].tolist()

    def odds(log_p: Tensor) -> Tensor:
        return log_p[first] - log_p[second]

    def spread(steps: int, rate: float) -> tuple[Mapping[str, float], Tensor, float]:
        course = Course(at.model, log_probs, of_baseline(right, 0.0), ANSWERS, "sgd", lambda step: rate)
        updates = {baseline: of_baseline(right, value) for baseline, value in BASELINES.items()}
        found = spread_along(course, steps, {"odds": odds}, checkpoint=4, others=updates)
        deviations = {baseline: of["odds"] for baseline, of in found.others.items()}
        return deviations, found.log_probs, _least(deviations)

    deviations, ended, best = spread(run.steps, run.learning_rate)
    slopes = torch.autograd.grad(odds(log_probs(at.model)), [*at.model.parameters()])
    # Logits that move each alone have a log odds whose slope has a square of 2.
    step = run.learning_rate * sum(float(slope.square().sum()) for slope in slopes) / 2
    start, stop = (float((log_p.exp() * right).sum()) for log_p in (base, ended))
    known = {"mean of the others": "mean", "none": "none", "one": "one"}
    counts: dict[str, Any] = {
        "valid": int(right.sum()),
        "invalid": int((1 - right).sum()),
        "step": step,
        "answers": ANSWERS,
    }
    with warnings.catch_warnings():
        # The rival's noise is not small where it is far off: it is compared as it is.
        warnings.simplefilter("ignore", SmallNoiseWarning)
        tabular = {
            name: float(drift_deviation(start, stop, baseline=formula, **counts))
            for name, formula in known.items()
        }
    pair = (at.tokenizer.decode(first).strip(), at.tokenizer.decode(second).strip())
    one, other = places.tolist()
    ends = (stop, float(odds(ended)))
    # The rate cancels: a tiny one, so that the adjoint is that of the base.
    of_a_step = spread(1, 1e-9)[2]
    return Lottery(pair, (one, other), start, ends, deviations, tabular, best, of_a_step)


@dataclass(frozen=True)
class Spread:
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


def spreads(lotteries: Mapping[str, Lottery], outcomes: Sequence[FinishedOpenRun]) -> list[Spread]:
    """Of each prompt and baseline with two seeds or more."""
    found = []
    for (task, said), baseline in product(lotteries.items(), BASELINES):
        ends = [
            outcome.course[-1].tasks[task]
            for outcome in outcomes
            if outcome.run.tasks == (task,) and outcome.run.form == baseline
        ]
        if len(ends) < 2:
            continue
        first, second = said.places
        freedom = len(ends) - 1
        measured = stdev(math.log(end.first_shares[0][first] / end.first_shares[0][second]) for end in ends)
        low, high = (measured * math.sqrt(freedom / chi2.ppf(at, freedom)) for at in (0.95, 0.05))
        predicted = said.deviations[baseline]
        verdict = "held" if low <= predicted <= high else "missed"
        rates = fmean(end.validity[0] for end in ends)
        rival = said.tabular.get(baseline)
        found.append(Spread(task, baseline, len(ends), rates, predicted, rival, measured, low, high, verdict))
    return found


def of_baseline(right: Tensor, constant: float | None) -> Update:
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
    at = {value: deviations[name] ** 2 for name, value in BASELINES.items() if value is not None}
    curvature = 2 * (at[0.0] - 2 * at[0.5] + at[1.0])
    return 0.5 - (at[1.0] - at[0.0]) / (2 * curvature)
