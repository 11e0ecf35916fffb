"""Kernel of a run's base, and the forecast that it makes before the run."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory import transfer as theory
from dph_theory.divergences import FORWARD_KL
from dph_theory.support.errors import choice
from dph_theory.support.record import as_json
from dph_theory.transfer import AnswerKernel

from ...models.load import LoadedModel, ModelHashes, load
from ...recipe.schema import ModelConfig
from ...transfer.answers import Listed
from ...transfer.measure import measure_listed
from ...transfer.metric import ADAM, EUCLIDEAN
from .anchors import by_lot
from .losses import method_of
from .open_prompts import SOLVED, STORED, open_prompts
from .reading import Reading
from .runs import BY_KERNEL, GROUP, HELD_OUT, PICKED, RANDOM, OpenRun, with_held_out
from .training import pretrained_llama, train_on_samples
from .transfer import KS, KernelSettings, TransferForecast, mean_of_rows

LINEARISED_SEEDS = 8
SLOPES = (1, 4, 16, 64, 256)  # The k at which the initial slope of Pass@k is given.


def kernel_of(path: str, run: OpenRun, folder: Path, metric: str = EUCLIDEAN) -> AnswerKernel:
    """Kernel by which a run is predicted, measured once and stored in the folder."""
    file = folder / "kernels" / f"{KernelSettings.of_run(run, metric).digest}.npz"
    if file.is_file():
        return AnswerKernel.load(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    llama = pretrained_llama(path)
    config = ModelConfig(path=path)
    if run.rank is not None:
        # An adapter changes the model that it is attached to.
        adapter = {"r": run.rank, "lora_alpha": 2 * run.rank, "target_modules": "all-linear"}
        config = replace(config, lora=adapter)
        loaded = load(config)
    else:
        if run.measured_after:
            train_on_samples(path, replace(run, steps=run.measured_after, measured_after=0))
        loaded = LoadedModel(llama.model, llama.tokenizer, ModelHashes.of_model(path))
    prompts = listed_prompts(llama.tokenizer, with_held_out(run.tasks))
    return measure_listed(loaded, config, prompts, file, trained=run.tasks, metric=metric)


def anchors_of(run: OpenRun, kernel: AnswerKernel, candidates: np.ndarray) -> np.ndarray:
    """Indices in the kernel of the held-out prompts (among `candidates`) that a run anchors to the base."""
    if not run.anchors:
        return candidates[:0]
    choice("picked", run.picked, PICKED)
    if run.picked == RANDOM:
        return candidates[[*by_lot(run)]]
    coupling = kernel.log_odds.kernel
    explaining = theory.chosen_anchors(coupling, candidates, run.anchors)
    if run.picked == BY_KERNEL:
        return np.sort(explaining)
    rest = np.setdiff1d(candidates, explaining)
    length = np.sqrt(np.diag(coupling))
    cosine = np.abs(coupling / length[:, None] / length)[np.ix_(rest, rest)]
    return np.sort(rest[np.argsort(cosine.sum(axis=1))[: run.anchors]])


def listed_prompts(tokenizer: Any, tasks: Sequence[str]) -> list[Listed]:
    """Prompts of these tasks, one set per task, each with the token ids of its correct answers."""
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


def forecast(path: str, run: OpenRun, folder: Path) -> TransferForecast:
    """Predict a run by the plain kernel of its own model, measured once and stored."""
    kernel = kernel_of(path, run, folder)
    anchors = anchors_of(run, kernel, kernel.prompts_in(run.tasks[0] + HELD_OUT))
    return _forecast(run, kernel, anchors)


def adam_forecast(path: str, run: OpenRun, folder: Path, anchors: tuple[int, ...] = ()) -> TransferForecast:
    """Predict a run by the kernel of Adam's steps, with the anchored texts of the plain forecast.

    Empty if the linearised model diverges.
    """
    kernel = kernel_of(path, run, folder, ADAM)
    try:
        return _forecast(run, kernel, kernel.prompts_in(run.tasks[0] + HELD_OUT)[[*anchors]])
    except ValueError:  # The gradient overflows: steps of many units of log odds are beyond any kernel.
        return TransferForecast((), (), (), anchors)


def _forecast(run: OpenRun, kernel: AnswerKernel, anchors: np.ndarray) -> TransferForecast:
    trained, candidates = kernel.prompts_in(*run.tasks), kernel.prompts_in(run.tasks[0] + HELD_OUT)
    held_out, explored = np.setdiff1d(candidates, anchors), kernel.prompts_in(run.tasks[0])
    method, steps = linear_method(run, kernel, trained, anchors), run.steps - run.measured_after
    step = run.learning_rate * (kernel.about["adam"] if run.optimiser == "adam" else 1.0)
    settings: dict[str, Any] = {"steps": steps, "step": step, "optimiser": run.optimiser}
    curves = theory.linearised_training(kernel, method, trained, seeds=LINEARISED_SEEDS, **settings)
    return TransferForecast(
        trained=mean_of_rows(curves.pass_at_k(explored, KS)[:, -1]),
        held_out=mean_of_rows(curves.pass_at_k(held_out, KS)[:, -1]),
        rates=tuple(curves.rates[:, -1].mean(axis=0).tolist()),
        anchors=tuple((anchors - candidates[0]).tolist()),
    )


def linear_method(
    run: OpenRun, kernel: AnswerKernel, trained: np.ndarray, anchors: np.ndarray
) -> theory.LinearisedMethod:
    """Method with which the linearised model is trained in the run's place: KL, rehearsal, anchors."""
    method = method_of(run)
    holds: tuple[theory.Hold, ...] = ()
    if method.rehearsal is not None:
        solved = tuple(i for i in trained.tolist() if kernel.log_odds.rates[i] >= SOLVED)
        holds = (theory.Hold(solved, method.rehearsal.divergence, run.coefficient, answers=STORED),)
    if anchors.size:
        pinned = tuple(anchors.tolist())
        holds += (theory.Hold(pinned, FORWARD_KL, run.coefficient, correct_only=False, answers=run.answers),)
    linearised = theory.LinearisedMethod.from_objective(method.objective(GROUP, run.coefficient))
    return replace(linearised, alpha=method.alpha, holds=holds)


def kernel_summary(path: str, run: OpenRun, folder: Path, most_cosines: int = 64) -> dict[str, Any]:
    """Summary of a run's kernel: prompts, pass rates, cosines of log-odds gradients if few, and slopes."""
    kernel = kernel_of(path, run, folder)
    coupling, rates = kernel.log_odds
    row: dict[str, Any] = {"settings": asdict(KernelSettings.of_run(run)), "sets": kernel.sets}
    row |= {"rates": rates, "slopes": initial_slopes(kernel)}
    if len(rates) <= most_cosines:
        length = np.sqrt(np.maximum(np.diag(coupling), 1e-300))
        row["cosines"] = np.round(coupling / length[:, None] / length, 2)
    return dict(as_json(row, digits=4))


def initial_slopes(kernel: AnswerKernel) -> dict[str, list[float]]:
    """Slope at the base of Pass@k on held-out and on new prompts, under GRPO on the first set.

    Keys: "k", "held out", and in "pairs" the mean of pairs over its standard error. Entries:
    `between_prompts`, `sampled_kernels`.
    """
    coupling, rates = kernel.log_odds
    mixed, first = np.flatnonzero((rates > 0) & (rates < 1)), kernel.sets[0]
    trained = np.intersect1d(kernel.prompts_in(first), mixed)
    drive = np.zeros(len(rates))
    drive[trained] = theory.group_drive(GROUP, rates[trained])
    held_out = kernel.prompts_in(first + HELD_OUT)
    slope = theory.pass_at_k_slope(coupling, rates, SLOPES, drive, among=held_out)
    of_kind = np.intersect1d(kernel.prompts_in(first, first + HELD_OUT), mixed)
    among, of_rates = coupling[np.ix_(of_kind, of_kind)], rates[of_kind]
    pairs = [theory.own_and_pair(among, of_rates, k, theory.group_drive(GROUP, of_rates)) for k in SLOPES]
    errors = [float(effects.pair / effects.pair_error) for effects in pairs]
    return {"k": [*map(float, SLOPES)], "held out": slope.tolist(), "pairs": errors}
