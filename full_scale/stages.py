"""The pipeline stages as functions: each loads what its recipe names, runs the stage, and cleans up."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import transformers
from accelerate import PartialState

from dph_theory.support.progress import NotedProgress, Progress, silent
from dph_theory.transfer import AnswerKernel

from .evaluation.evaluate import evaluate
from .evaluation.evaluated_run import Evaluation
from .models.generation import with_room
from .models.load import LoadedModel, ModelHashes, load, load_trained
from .presampling.presample import presample
from .presampling.result import Presampling
from .recipe.folders import Folders
from .recipe.schema import ModelConfig, Recipe, TaskConfig, load_recipe
from .sampling.count import Counted, CountSettings, count
from .storage.locks import end_with_launcher, locked
from .tasks.loaders import load_task
from .tasks.protocol import Task, repeated_prompts
from .training.trained_run import TrainingRecord

# One progress bar per stage is enough. TRL still reads a setting under a name that transformers deprecates.
transformers.utils.logging.disable_progress_bar()
warnings.filterwarnings("ignore", ".*gradient_checkpointing", FutureWarning)


LONGEST_WAIT = timedelta(days=30)
"""Timeout of a collective operation: idle processes wait this long for the busiest one."""


Say = Callable[[Sequence[str]], None]
"""A callback that receives the sentences a user should read at the start of a stage."""


def unsaid(words: Sequence[str]) -> None:
    """Discard the sentences."""


def count_stage(settings: CountSettings, path: Path, progress: Progress, say: Say = unsaid) -> Counted:
    """Count a model's correct answers with `count`, in every process of the launch."""
    _processes()
    counted = count(settings, path, progress=progress, say=say)
    _take_leave()
    return counted


def presample_stage(recipe: Recipe, progress: Progress, say: Say = unsaid) -> Presampling:
    """Pre-sample the recipe's initial model, or load the pre-sampling if it is finished."""
    _processes()
    with locked(Folders.of_recipe(recipe).presample), _task(recipe, say) as task:
        initial = _initial(recipe)
        presampling = presample(recipe, task, initial, progress=progress)
    _take_leave()
    return presampling


def train_stage(recipe: Recipe, progress: NotedProgress, say: Say = unsaid) -> TrainingRecord:
    """Train by the recipe, starting from the pre-sampling that all runs in its output folder share."""
    from .training.train import train  # Imports TRL, which the other stages do not need.

    end_with_launcher()
    with locked(Folders.of_recipe(recipe).run_folder), _task(recipe, say) as task:
        hashes = ModelHashes.of_model(recipe.model.path)
        presampling = _presampling(recipe, task, hashes)
        record = train(recipe, task, presampling, hashes, progress=progress, say=say)
    _take_leave()
    return record


def evaluate_stage(
    recipe: Recipe, progress: Progress, say: Say = unsaid, *, base_only: bool = False
) -> Evaluation:
    """Evaluate the initial model unless that is done, then the trained one; return the last evaluation."""
    processes, folders = _processes(), Folders.of_recipe(recipe)
    training = None if base_only else TrainingRecord.read(folders.training)
    if training is not None:
        training.require_recipe(recipe)
    with locked(folders.base().run_folder if base_only else folders.run_folder), _task(recipe, say) as task:
        initial = _initial(recipe)
        presampling = _presampling(recipe, task, initial.hashes)
        shared: Any = {"initial": initial, "presampling": presampling, "progress": progress}
        base = folders.base()
        if base_only:
            finished = evaluate(recipe, task, initial, folders=base, **shared)
        else:
            # If several runs reach this line together, one of them evaluates the base for all.
            with locked(base.run_folder, wait=True):
                processes.wait_for_everyone()
                if not base.evaluation.is_file():
                    evaluate(recipe, task, initial, folders=base, **shared)
            trained = load_trained(recipe.model, folders.model, initial)
            if training is not None:
                training.require_model(trained.hashes.model, folders.model)
            finished = evaluate(recipe, task, trained, folders=folders, **shared)
            if processes.is_main_process:
                from .training.card import write_card

                write_card(folders)
    _take_leave()
    return finished


def run_stages(recipe: Recipe, progress: Callable[..., None] = silent) -> Evaluation:
    """Train a recipe's run and evaluate it unless that is done; return its evaluation."""
    train_stage(recipe, progress)
    evaluation = Folders.of_recipe(recipe).evaluation
    return Evaluation.read(evaluation) if evaluation.is_file() else evaluate_stage(recipe, progress)


def transfer_stage(
    words: Sequence[str],
    path: Path,
    *,
    config: str | None = None,
    verifier: str | None = None,
    progress: Progress,
    say: Say = unsaid,
    samples: int,
    own: int,
    limit: int | None,
    metric: str,
) -> AnswerKernel:
    """Measure the kernel between answers to the prompts of a recipe or of files, and store it at `path`.

    With a recipe, `words` are KEY=VALUE overrides. Otherwise they are a model and prompt files, the first of
    which holds the training prompts. Correct answers come from the files, or are sampled and judged.
    """
    from .transfer.measure import measure_files, measure_sampled

    options: Any = {"limit": limit, "metric": metric, "progress": progress, "say": say}
    if config is None and verifier is None:
        model, *files = words
        return measure_files(ModelConfig(path=model), [*map(Path, files)], path, wrong=own, **options)
    recipe = load_recipe(config, words) if config is not None else _of_files(verifier or "", *words)
    with _task(recipe, say) as task:
        return measure_sampled(recipe, task, path, samples=samples, own=own, **options)


def _of_files(verifier: str, model: str, prompts: str, *held_out: str) -> Recipe:
    """Build a recipe for the prompts of files, for stages that need only a model and a task."""
    from .transfer.measure import HELD_OUT

    names = [HELD_OUT] + [f"{HELD_OUT} {number}" for number in range(2, len(held_out) + 1)]
    evaluation = {name: {"data": file} for name, file in zip(names, held_out, strict=False)}
    task = TaskConfig("dataset", prompts, options={"verifier": verifier, "evaluation": evaluation})
    return Recipe(name=Path(prompts).stem, model=ModelConfig(path=model), task=task)


def _initial(recipe: Recipe) -> LoadedModel:
    sampling = recipe.sampling
    return load(recipe.model, stop=sampling.stop, aside=sampling.backend == "vllm")


def _presampling(recipe: Recipe, task: Task, hashes: ModelHashes) -> Presampling:
    presampling = Presampling.load(Folders.of_recipe(recipe).presample)
    presampling.check(recipe, task, hashes)
    return presampling


@contextmanager
def _task(recipe: Recipe, say: Say) -> Iterator[Task]:
    task = load_task(recipe.task)
    try:
        with_enough, left_out = with_room(recipe, task)
        say([*left_out, *repeated_prompts(with_enough)])
        yield with_enough
    finally:
        task.close()


def _take_leave() -> None:
    """Destroy the process group: exiting with a live one may abort, and torchrun then kills the others."""
    PartialState().destroy_process_group()


def _processes() -> PartialState:
    """Return the state of the launch's processes, each of which has its own device."""
    end_with_launcher()
    return PartialState(timeout=LONGEST_WAIT)
