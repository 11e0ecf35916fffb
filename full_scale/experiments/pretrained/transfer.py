"""Does the kernel of the base predict what training some prompts does to others of their kind?

Before a run the linearised model is trained by the run's own method; nothing is fitted. After it the kernel
says from the change of the trained prompts what that of the others is. Left out: how the kernel moves along a
training, but for one run; seeds of the sketch of gradients; answers that are listed in part. Runs of the
methods and of the anchors are predicted as well; declared here are other prompts, optimisers and ranks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from scipy.special import expit, logit

from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL
from dph_theory.support.record import as_json
from dph_theory.support.settings_text import settings_text
from dph_theory.support.table import Table
from dph_theory.transfer import (
    AnswerKernel,
    Hold,
    LinearisedMethod,
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
from ...transfer.metric import ADAM, EUCLIDEAN
from ..outcome import Settings
from .anchors import PRODUCTS, SEEDS, SUMS, WIDE, anchors_of
from .losses import SOLVED, STORED, method_of
from .open_prompts import Reading, open_prompts
from .runs import GROUP, HELD_OUT, MIXTURE, FinishedOpenRun, OpenRun, Outcomes, Policy, pass_at, with_held_out
from .training import pretrained_llama, train_on_samples

KS = (1, 16, 256)
LINEARISED_SEEDS = 8
SLOPES = (1, 4, 16, 64, 256)
"""The k at which the initial slope of Pass@k is given."""
_RIDGE, _LEAST_RATE = 0.01, 1e-12
"""Of the interpolation; and the least pass rate that is told from none."""


def declared() -> list[OpenRun]:
    """Other prompts than the methods', other optimisers, rates and ranks, and a kernel measured later."""
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
    """What decides a kernel: prompts and their held-out halves, at the base or so many steps later."""

    tasks: tuple[str, ...]
    rank: int | None = None
    measured_after: int = 0
    seed: int | None = None
    """Of the steps before it was measured."""
    model: str | None = None
    metric: str = EUCLIDEAN

    @classmethod
    def of_run(cls, run: OpenRun, metric: str = EUCLIDEAN) -> "KernelSettings":
        """Those of the kernel that a run is predicted by."""
        seed = run.seed if run.measured_after else None
        return cls(run.tasks, run.rank, run.measured_after, seed, run.model, metric)


def kernel_of(path: str, run: OpenRun, folder: Path, metric: str = EUCLIDEAN) -> AnswerKernel:
    """The kernel that a run is predicted by, measured once and stored in the folder."""
    file = folder / "kernels" / f"{KernelSettings.of_run(run, metric).digest}.npz"
    if file.is_file():
        return AnswerKernel.load(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    llama = pretrained_llama(path)
    config = ModelConfig(path=path)
    if run.rank is not None:
        # An adapter changes the model that it is put on.
        adapter = {"r": run.rank, "lora_alpha": 2 * run.rank, "target_modules": "all-linear"}
        config = replace(config, lora=adapter)
        loaded = load(config)
    else:
        if run.measured_after:
            train_on_samples(path, replace(run, steps=run.measured_after, measured_after=0))
        loaded = LoadedModel(llama.model, llama.tokenizer, ModelHashes.of_model(path))
    prompts = listed_prompts(llama.tokenizer, with_held_out(run.tasks))
    return measure_listed(loaded, config, prompts, file, trained=run.tasks, metric=metric)


def listed_prompts(tokenizer: Any, tasks: Sequence[str]) -> list[Listed]:
    """The texts of these tasks with their correct answers, each task a set."""
    prompts = []
    for name in tasks:
        task = open_prompts(name)
        reading = Reading(tokenizer, [task])
        words, first = reading.word_ids(name).tolist(), tokenizer("")["input_ids"]
        for number, (text, valid) in enumerate(zip(task.texts, reading.valid(name), strict=True)):
            tokens = (*first, *tokenizer(text, add_special_tokens=False)["input_ids"])
            right = tuple(tuple(words[place] for place in answer) for answer in valid.nonzero().tolist())
            prompts.append(Listed(f"{name} {number}", name, tokens, right))
    return prompts


@dataclass(frozen=True)
class TransferForecast:
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
    """The texts of the first task's held-out half that are pinned to the base, not counted as held out."""


def forecast(path: str, run: OpenRun, folder: Path) -> TransferForecast:
    """The prediction of a run by the plain kernel of its own model, measured once and stored."""
    kernel = kernel_of(path, run, folder)
    anchors = anchors_of(run, kernel, kernel.prompts_in(run.tasks[0] + HELD_OUT))
    return _forecast(run, kernel, anchors)


def adam_forecast(path: str, run: OpenRun, folder: Path, anchors: tuple[int, ...] = ()) -> TransferForecast:
    """That by the kernel of Adam's steps, with the texts that the plain one's forecast holds at the base.

    Empty where the linearised model has no finite end.
    """
    kernel = kernel_of(path, run, folder, ADAM)
    try:
        return _forecast(run, kernel, kernel.prompts_in(run.tasks[0] + HELD_OUT)[[*anchors]])
    except ValueError:  # The gradient overflows: steps of many units of log odds are beyond any kernel.
        return TransferForecast((), (), (), (), (), (), anchors)


def _forecast(run: OpenRun, kernel: AnswerKernel, anchors: np.ndarray) -> TransferForecast:
    trained, candidates = kernel.prompts_in(*run.tasks), kernel.prompts_in(run.tasks[0] + HELD_OUT)
    held_out, explored = np.setdiff1d(candidates, anchors), kernel.prompts_in(run.tasks[0])
    method, steps = linear_method(run, kernel, trained, anchors), run.steps - run.measured_after
    step = run.learning_rate * (kernel.about["adam"] if run.optimiser == "adam" else 1.0)
    settings: dict[str, Any] = {"steps": steps, "step": step, "optimiser": run.optimiser}
    curves, alone = (
        linearised_training(model, method, trained, seeds=LINEARISED_SEEDS, **settings)
        for model in (kernel, kernel.alone())
    )
    quiet = linearised_training(kernel, method, trained, seeds=1, noise=False, **settings)
    ends = curves.pass_at_k(held_out, KS)[:, -1]
    return TransferForecast(
        trained=_mean(curves.pass_at_k(explored, KS)[:, -1]),
        held_out=_mean(ends),
        spread=tuple(ends.std(axis=0, ddof=1).tolist()),
        without_noise=_mean(quiet.pass_at_k(held_out, KS)[:, -1]),
        trained_alone=_mean(alone.pass_at_k(explored, KS)[:, -1]),
        rates=tuple(curves.rates[:, -1].mean(axis=0).tolist()),
        anchors=tuple((anchors - candidates[0]).tolist()),
    )


def _mean(values: np.ndarray | Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(np.asarray(values).mean(axis=0).tolist())


def linear_method(
    run: OpenRun, kernel: AnswerKernel, trained: np.ndarray, anchors: np.ndarray
) -> LinearisedMethod:
    """The run's method as the linearised model is trained by it."""
    method = method_of(run)
    holds: tuple[Hold, ...] = ()
    if method.rehearsal is not None:
        solved = tuple(i for i in trained.tolist() if kernel.log_odds.rates[i] >= SOLVED)
        holds = (Hold(solved, method.rehearsal.divergence, run.coefficient, answers=STORED),)
    if anchors.size:
        pinned = tuple(anchors.tolist())
        holds += (Hold(pinned, FORWARD_KL, run.coefficient, correct_only=False, answers=run.answers),)
    linearised = LinearisedMethod.from_objective(method.objective(GROUP, run.coefficient))
    return replace(linearised, alpha=method.alpha, holds=holds)


@dataclass(frozen=True)
class Interpolation:
    """A finished run's held-out Pass@k at KS as the kernel says from what its trained prompts did."""

    interpolated: tuple[float, ...]
    correlation: float
    """Over held-out prompts, of the interpolated change of log odds with the measured one."""
    forecast_correlation: float
    """The same of the forecast change."""


def interpolation(
    path: str, outcome: FinishedOpenRun, forecast: TransferForecast, folder: Path
) -> Interpolation:
    """What the kernel of the run's model makes of the trained prompts' change."""
    kernel = kernel_of(path, outcome.run, folder)
    candidates = kernel.prompts_in(outcome.run.tasks[0] + HELD_OUT)
    anchors = candidates[[*forecast.anchors]]
    held_out = np.setdiff1d(candidates, anchors)
    # What is held at the base is known as well as what is trained.
    trained = np.concatenate([kernel.prompts_in(*outcome.run.tasks), anchors])
    start = _log_odds(kernel, outcome.course[1 if outcome.run.measured_after else 0].tasks)
    measured = _log_odds(kernel, outcome.course[-1].tasks) - start
    change = interpolated(kernel.log_odds.kernel, trained, measured[trained], ridge=_RIDGE)
    predicted = _logit(np.array(forecast.rates)) - start
    rates = expit((start + change)[held_out])
    pairs = [(log_odds[held_out], measured[held_out]) for log_odds in (change, predicted)]
    passed = tuple(float(exact_pass_at_k(rates, k).mean()) for k in KS)
    return Interpolation(passed, *(float(np.corrcoef(*pair)[0, 1]) for pair in pairs))


def _log_odds(kernel: AnswerKernel, policy: Policy) -> np.ndarray:
    """Of the prompts of the kernel, each set of which is a task with its texts in order."""
    rates = np.empty(len(kernel.sets))
    for task in dict.fromkeys(kernel.sets):
        rates[kernel.prompts_in(task)] = policy[task].validity
    return _logit(rates)


def _logit(rates: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(rates, _LEAST_RATE, 1 - _LEAST_RATE)))


@dataclass(frozen=True)
class ForecastComparison:
    """Runs of one setting: what was predicted of their mean Pass@k at KS, held out, and what was measured."""

    setting: OpenRun
    seeds: int
    base: tuple[float, ...]
    forecast: tuple[float, ...]
    interpolated: tuple[float, ...]
    measured: tuple[float, ...]
    trained_forecast: tuple[float, ...]
    trained_measured: tuple[float, ...]
    trained_alone: tuple[float, ...]
    without_noise: tuple[float, ...]
    spread: tuple[float, ...]
    measured_spread: tuple[float, ...]
    correlation: float
    forecast_correlation: float
    adam_forecast: tuple[float, ...] = ()
    """By the kernel of Adam's steps, empty where there is none."""


def comparisons(
    outcomes: Outcomes, forecasts: Mapping[str, TransferForecast],
    interpolations: Mapping[str, Interpolation], of_adam: Mapping[str, TransferForecast],
) -> list[ForecastComparison]:  # fmt: skip
    """The runs that were predicted, by setting."""
    groups: dict[OpenRun, list[FinishedOpenRun]] = {}
    for outcome in outcomes:
        if outcome.run.id in forecasts and outcome.run.id in interpolations:
            groups.setdefault(outcome.run.setting, []).append(outcome)
    rows = []
    for setting, runs in groups.items():
        before = [forecasts[outcome.run.id] for outcome in runs]
        after = [interpolations[outcome.run.id] for outcome in runs]
        by_adam = [of_adam[outcome.run.id] for outcome in runs if outcome.run.id in of_adam]
        base, measured = (_free_pass_at(runs, before, point) for point in (0, -1))
        spread = measured.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(len(KS))
        trained = [[pass_at(outcome.last.tasks, setting.tasks[:1], k) for k in KS] for outcome in runs]
        rows.append(
            ForecastComparison(
                setting=setting, seeds=len(runs), base=_mean(base), measured=_mean(measured),
                measured_spread=tuple(spread.tolist()), trained_measured=_mean(trained),
                forecast=_mean([forecast.held_out for forecast in before]),
                interpolated=_mean([change.interpolated for change in after]),
                trained_forecast=_mean([forecast.trained for forecast in before]),
                trained_alone=_mean([forecast.trained_alone for forecast in before]),
                without_noise=_mean([forecast.without_noise for forecast in before]),
                spread=_mean([forecast.spread for forecast in before]),
                correlation=fmean(change.correlation for change in after),
                forecast_correlation=fmean(change.forecast_correlation for change in after),
                adam_forecast=_mean([forecast.held_out for forecast in by_adam]) if by_adam else (),
            )
        )  # fmt: skip
    return rows


def forecast_errors(compared: Sequence[ForecastComparison]) -> list[dict[str, Any]]:
    """By model, experiment, task and rate: how far forecasts and rivals of held-out Pass@k were off, at KS.

    Each a root mean square over settings: of the plain kernel and of that of Adam's steps where all have
    both, of no change (what each prompt alone predicts too), and of one answer for every prompt, whose Pass@k
    is its Pass@1; beside them the noise of the measured means over seeds.
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


def _free_pass_at(outcomes: Outcomes, forecasts: Sequence[TransferForecast], point: int) -> np.ndarray:
    """By run, at the start or the end: Pass@k at KS on the held-out texts that are not pinned."""
    task = outcomes[0].run.tasks[0] + HELD_OUT
    policies = zip([outcome.course[point].tasks for outcome in outcomes], forecasts, strict=True)
    return np.array([[pass_at(p, [task], k, without=f.anchors) for k in KS] for p, f in policies])


def table(compared: Sequence[ForecastComparison]) -> Table:
    """A row a setting: held-out Pass@k of the base, predicted, interpolated and measured."""
    rows: list[tuple[str | float, ...]] = []
    for row in compared:
        numbers = zip(row.base, row.forecast, row.interpolated, row.measured, strict=True)
        cells: list[float] = [round(value, 3) for at_k in numbers for value in at_k]
        rows.append((row.setting.tasks[0], settings_text(vars(row.setting)), row.seeds, *cells))
    heads = [f"@{k} {what}" for k in KS for what in ("base", "forecast", "interpolated", "found")]
    return Table.from_rows(("held out", "setting", "seeds", *heads), rows)


def kernel_summary(path: str, run: OpenRun, folder: Path, most_cosines: int = 64) -> dict[str, Any]:
    """Of a run's kernel: prompts, pass rates, cosines of their log odds' gradients if few, and slopes."""
    kernel = kernel_of(path, run, folder)
    coupling, rates = kernel.log_odds
    row: dict[str, Any] = {"settings": asdict(KernelSettings.of_run(run)), "sets": kernel.sets}
    row |= {"rates": rates, "slopes": initial_slopes(kernel)}
    if len(rates) <= most_cosines:
        length = np.sqrt(np.maximum(np.diag(coupling), 1e-300))
        row["cosines"] = np.round(coupling / length[:, None] / length, 2)
    return dict(as_json(row, digits=4))


def initial_slopes(kernel: AnswerKernel) -> dict[str, list[float]]:
    """The slope of held-out Pass@k at the base under GRPO on the first set, and of new prompts of its kind.

    By "k", "held out", and the mean of pairs over its standard error in "pairs". Entries:
    `between_prompts`.
    """
    coupling, rates = kernel.log_odds
    mixed, first = np.flatnonzero((rates > 0) & (rates < 1)), kernel.sets[0]
    trained = np.intersect1d(kernel.prompts_in(first), mixed)
    drive = np.zeros(len(rates))
    drive[trained] = group_drive(GROUP, rates[trained])
    held_out = kernel.prompts_in(first + HELD_OUT)
    slope = pass_at_k_slope(coupling, rates, SLOPES, drive, among=held_out)
    of_kind = np.intersect1d(kernel.prompts_in(first, first + HELD_OUT), mixed)
    among, of_rates = coupling[np.ix_(of_kind, of_kind)], rates[of_kind]
    pairs = [own_and_pair(among, of_rates, k, group_drive(GROUP, of_rates)) for k in SLOPES]
    errors = [float(effects.pair / effects.pair_error) for effects in pairs]
    return {"k": [*map(float, SLOPES)], "held out": slope.tolist(), "pairs": errors}
