"""What the kernel of the base says of a run before it begins, beside what else could be thought."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL
from dph_theory.support.errors import choice
from dph_theory.trainers.kl_terms import KL_FORMS
from dph_theory.transfer import (
    AnswerKernel,
    Hold,
    Method,
    chosen_anchors,
    group_drive,
    interpolated,
    linearised_training,
    own_and_pair,
    pass_at_k_slope,
)

from ...models.load import LoadedModel, ModelHashes, load
from ...recipe.schema import ModelConfig
from ...transfer.answers import Listed
from ...transfer.measure import measure_listed
from .claims import pass_at
from .losses import NAMED
from .open_prompts import Reading, open_prompts
from .runs import BY_KERNEL, GROUP, HELD_OUT, PICKED, RANDOM, SOLVED, STORED, OpenRun, Policy
from .training import FinishedOpenRun, lab, shown_with, train_on_samples

KS = (1, 16, 256)
SEEDS = 8
SLOPES = (1, 4, 16, 64, 256)
"""The k at which the initial slope of Pass@k is given."""
_RIDGE, _FAR = 0.01, 1e-12
"""Of the interpolation; and the least pass rate that is told from none."""


@dataclass(frozen=True)
class Forecast:
    """A run's end as it is predicted: Pass@k at KS on prompts that are trained, and on held-out ones."""

    trained: tuple[float, ...]
    held_out: tuple[float, ...]
    spread: tuple[float, ...]
    """The deviation of the latter over seeds."""
    without_noise: tuple[float, ...]
    """The latter if every step took the expected gradient."""
    trained_alone: tuple[float, ...]
    """The former if each prompt had a model of its own; the held-out ones would stay as they are."""
    rates: tuple[float, ...]
    """Mean pass rates of the prompts of the kernel, in its order."""
    anchors: tuple[int, ...] = ()
    """The texts of the first task's held-out half that are pinned to the base, and not counted as held
    out."""


def forecast(path: str, run: OpenRun, folder: Path) -> Forecast:
    """The prediction of a run by the kernel of its own model, measured once a base and kept in the folder."""
    kernel = kernel_of(path, run, folder)
    trained, candidates = kernel.of(*run.tasks), kernel.of(run.tasks[0] + HELD_OUT)
    anchors = anchors_of(run, kernel, candidates)
    held_out = np.setdiff1d(candidates, anchors)
    how: dict[str, Any] = {"steps": run.steps - run.measured_after, "optimiser": run.optimiser}
    how["step"] = run.learning_rate * (kernel.about["adam"] if run.optimiser == "adam" else 1.0)
    method = linear_method(run, kernel, trained, anchors)
    course = linearised_training(kernel, method, trained, seeds=SEEDS, **how)
    quiet = linearised_training(kernel, method, trained, seeds=1, noise=False, **how)
    own = linearised_training(kernel.alone(), method, trained, seeds=SEEDS, **how)
    explored = kernel.of(run.tasks[0])
    ends = course.pass_at_k(held_out, KS)[:, -1]
    return Forecast(
        _mean(course.pass_at_k(explored, KS)[:, -1]),
        _mean(ends),
        tuple(ends.std(axis=0, ddof=1).tolist()),
        _mean(quiet.pass_at_k(held_out, KS)[:, -1]),
        _mean(own.pass_at_k(explored, KS)[:, -1]),
        tuple(course.rates[:, -1].mean(axis=0).tolist()),
        tuple((anchors - candidates[0]).tolist()),
    )


def anchors_of(run: OpenRun, kernel: AnswerKernel, candidates: np.ndarray) -> np.ndarray:
    """The prompts of a run that are held at the base, indices in the kernel."""
    choice("picked", run.picked, PICKED)
    if not run.anchors:
        return candidates[:0]
    if run.picked == RANDOM:
        some = np.random.default_rng(run.seed).choice(candidates, run.anchors, replace=False)
        return np.sort(some)
    coupling = kernel.log_odds.kernel
    first = chosen_anchors(coupling, candidates, run.anchors)
    if run.picked == BY_KERNEL:
        return np.sort(first)
    left = np.setdiff1d(candidates, first)
    length = np.sqrt(np.diag(coupling))
    cosine = np.abs(coupling / length[:, None] / length)[np.ix_(left, left)]
    return np.sort(left[np.argsort(cosine.sum(axis=1))[: run.anchors]])


def _mean(values: np.ndarray) -> tuple[float, ...]:
    return tuple(values.mean(axis=0).tolist())


def linear_method(run: OpenRun, kernel: AnswerKernel, trained: np.ndarray, anchors: np.ndarray) -> Method:
    """The run's method as the linearised model is trained by it."""
    named = NAMED[run.form]
    scale = "population_std" if named.exploration.normalise else named.exploration.baseline
    solved = tuple(i for i in trained.tolist() if kernel.log_odds.rates[i] >= SOLVED)
    holds: tuple[Hold, ...] = ()
    if named.rehearsal is not None:
        holds = (Hold(solved, named.rehearsal.divergence, run.beta, answers=STORED),)
    if anchors.size:
        held = tuple(anchors.tolist())
        holds += (Hold(held, FORWARD_KL, run.beta, correct_only=False, answers=run.answers),)
    divergence = (
        None if named.penalty is None or not run.beta else KL_FORMS[named.penalty.estimator].divergence
    )
    return Method(
        "none" if scale == "mean" else scale,
        GROUP,
        beta=run.beta if divergence else 0.0,
        divergence=divergence,
        mixed_only=named.exploration.dynamic_sampling,
        alpha=named.alpha,
        holds=holds,
    )


def kernel_of(path: str, run: OpenRun, folder: Path) -> AnswerKernel:
    """The kernel of the run's prompts and their held-out halves, at its base or so many steps later."""
    words = [*run.tasks, *([] if run.rank is None else [f"adapter {run.rank}"])]
    words += [f"after {run.measured_after}", f"seed {run.seed}"] if run.measured_after else []
    file = folder / "kernels" / ("+".join(words).replace(" ", "-") + ".npz")
    if file.is_file():
        return AnswerKernel.load(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    at = lab(path)
    config = ModelConfig(path=path)
    if run.rank is not None:
        # An adapter changes the model that it is put on.
        config = replace(
            config, lora={"r": run.rank, "lora_alpha": 2 * run.rank, "target_modules": "all-linear"}
        )
        loaded = load(config)
    elif run.measured_after:
        train_on_samples(path, replace(run, steps=run.measured_after, measured_after=0))
        loaded = LoadedModel(at.model, at.tokenizer, ModelHashes.of(path))
    else:
        at.reset()
        loaded = LoadedModel(at.model, at.tokenizer, ModelHashes.of(path))
    prompts = listed_prompts(at.tokenizer, shown_with(run.tasks))
    return measure_listed(loaded, config, prompts, file, trained=run.tasks)


def listed_prompts(tokenizer: Any, tasks: Sequence[str]) -> list[Listed]:
    """The texts of these tasks with their correct answers, each task a set."""
    found = []
    for name in tasks:
        task = open_prompts(name)
        reading = Reading(tokenizer, [task])
        words, first = reading.word_ids(name).tolist(), tokenizer("")["input_ids"]
        for number, (text, valid) in enumerate(zip(task.texts, reading.valid(name), strict=True)):
            tokens = (*first, *tokenizer(text, add_special_tokens=False)["input_ids"])
            right = tuple(tuple(words[place] for place in answer) for answer in valid.nonzero().tolist())
            found.append(Listed(f"{name} {number}", name, tokens, right))
    return found


@dataclass(frozen=True)
class Followed:
    """A finished run's held-out Pass@k at KS as the kernel says from what its trained prompts did.

    `alike` is the correlation over held-out prompts of the change of log odds so interpolated with the found
    one, `forecast_alike` that of the forecast's.
    """

    interpolated: tuple[float, ...]
    alike: float
    forecast_alike: float


def followed(path: str, outcome: FinishedOpenRun, forecast: Forecast, folder: Path) -> Followed:
    """What the kernel of the run's model makes of the trained prompts' change."""
    kernel = kernel_of(path, outcome.run, folder)
    candidates = kernel.of(outcome.run.tasks[0] + HELD_OUT)
    anchors = candidates[[*forecast.anchors]]
    held = np.setdiff1d(candidates, anchors)
    # What is held at the base is known as well as what is trained.
    trained = np.concatenate([kernel.of(*outcome.run.tasks), anchors])
    at, end = (_log_odds(kernel, outcome.course[i].tasks) for i in (outcome.run.measured_after > 0, -1))
    change = interpolated(kernel.log_odds.kernel, trained, (end - at)[trained], ridge=_RIDGE)
    rates = 1 / (1 + np.exp(-(at + change)[held]))
    passed = tuple(float(exact_pass_at_k(rates, k).mean()) for k in KS)
    foreseen = _logit(np.array(forecast.rates))
    alike = (np.corrcoef(of[held], (end - at)[held])[0, 1] for of in (change, foreseen - at))
    return Followed(passed, *(float(value) for value in alike))


def _log_odds(kernel: AnswerKernel, policy: Policy) -> np.ndarray:
    places = [name.rpartition(" ") for name in kernel.names]
    return _logit(np.array([policy[task].validity[int(number)] for task, _, number in places]))


def _logit(rates: np.ndarray) -> np.ndarray:
    rates = np.clip(rates, _FAR, 1 - _FAR)
    return np.log(rates) - np.log1p(-rates)


@dataclass(frozen=True)
class Held:
    """Runs of one setting: what was predicted of their mean Pass@k at KS, held out, and what was found."""

    tasks: tuple[str, ...]
    setting: str
    seeds: int
    base: tuple[float, ...]
    forecast: tuple[float, ...]
    interpolated: tuple[float, ...]
    found: tuple[float, ...]
    trained_forecast: tuple[float, ...]
    trained_found: tuple[float, ...]
    trained_alone: tuple[float, ...]
    without_noise: tuple[float, ...]
    spread: tuple[float, ...]
    found_spread: tuple[float, ...]
    alike: float
    forecast_alike: float


def held_to_forecasts(
    outcomes: Sequence[FinishedOpenRun], forecasts: Mapping[str, Forecast], follows: Mapping[str, Followed]
) -> list[Held]:
    """The runs that were predicted, by setting."""
    groups: dict[tuple[tuple[str, ...], str], list[FinishedOpenRun]] = {}
    for outcome in outcomes:
        if outcome.run.id in forecasts and outcome.run.id in follows:
            groups.setdefault((outcome.run.tasks, setting_of(outcome.run)), []).append(outcome)
    return [_held(*key, runs, forecasts, follows) for key, runs in groups.items()]


def setting_of(run: OpenRun) -> str:
    """The method, its strength, and what else is not as usual."""
    words = [run.form if not run.beta else f"{run.form}, {run.beta:g}"]
    words += [] if run.optimiser == "adam" else [f"SGD {run.learning_rate:g}"]
    words += (
        [f"Adam {run.learning_rate:g}"]
        if run.optimiser == "adam" and run.rank is None and run.learning_rate != 1e-5
        else []
    )
    words += [] if run.rank is None else [f"LoRA {run.rank}"]
    stored = "" if run.answers is None else f" of {run.answers} answers"
    words += [f"{run.anchors} {run.picked}{stored}"] if run.anchors else []
    words += [f"kernel after {run.measured_after} steps"] if run.measured_after else []
    return ", ".join(words)


def _held(
    tasks: tuple[str, ...],
    setting: str,
    runs: Sequence[FinishedOpenRun],
    forecasts: Mapping[str, Forecast],
    follows: Mapping[str, Followed],
) -> Held:
    of = [forecasts[run.run.id] for run in runs]
    after = [follows[run.run.id] for run in runs]

    def passed(run: FinishedOpenRun, task: str, point: int = -1) -> list[float]:
        left = forecasts[run.run.id].anchors if task.endswith(HELD_OUT) else ()
        return [pass_at(run.course[point].tasks, [task], k, without=left) for k in KS]

    held = np.array([passed(run, tasks[0] + HELD_OUT) for run in runs])
    return Held(
        tasks,
        setting,
        len(runs),
        _mean(np.array([passed(run, tasks[0] + HELD_OUT, 0) for run in runs])),
        _mean(np.array([each.held_out for each in of])),
        _mean(np.array([each.interpolated for each in after])),
        _mean(held),
        _mean(np.array([each.trained for each in of])),
        _mean(np.array([passed(run, tasks[0]) for run in runs])),
        _mean(np.array([each.trained_alone for each in of])),
        _mean(np.array([each.without_noise for each in of])),
        _mean(np.array([each.spread for each in of])),
        tuple(held.std(axis=0, ddof=1).tolist()) if len(runs) > 1 else (0.0,) * len(KS),
        fmean(each.alike for each in after),
        fmean(each.forecast_alike for each in after),
    )


def initial_slopes(kernel: AnswerKernel) -> dict[str, list[float]]:
    """The slope of held-out Pass@k at the base under GRPO on the first set, and of new prompts of its kind.

    By "k", "held out", and the mean of pairs over its standard error in "pairs". Theory: N2, N7.
    """
    coupling, rates = kernel.log_odds
    mixed = np.flatnonzero((rates > 0) & (rates < 1))
    first = kernel.sets[0]
    drive = np.zeros(len(rates))
    some = np.intersect1d(kernel.of(first), mixed)
    drive[some] = group_drive(GROUP, rates[some])
    slope = pass_at_k_slope(coupling, rates, SLOPES, drive, among=kernel.of(first + HELD_OUT))
    alike = np.intersect1d(np.concatenate([kernel.of(first), kernel.of(first + HELD_OUT)]), mixed)
    each = group_drive(GROUP, rates[alike])
    pairs = [own_and_pair(coupling[np.ix_(alike, alike)], rates[alike], k, each) for k in SLOPES]
    sure = [float(of.pair / of.pair_error) for of in pairs]
    return {"k": [*map(float, SLOPES)], "held out": slope.tolist(), "pairs": sure}
