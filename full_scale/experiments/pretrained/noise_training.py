"""The spread that noise gives a policy gradient without a KL: its forecast by the adjoint, and the runs."""

import warnings
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from dph_theory.finite_training import SmallNoiseWarning, drift_deviation
from dph_theory.finite_training.training import (
    DifferentiableTraining,
    Draws,
    Update,
    group_baseline,
    spread_along,
)

from .losses import baseline_loss
from .noise import NoiseForecast
from .reading import LogProbs
from .runs import ANSWERS, BASELINES, FinishedOpenRun, OpenRun
from .training import PretrainedLlama, descend, pretrained_llama, prompts_of, whole_answers


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
