"""The evaluation stage: what a model solves, in which styles, and how likely its answers were to the base."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.frozen import as_json, from_json
from dph_theory.support.progress import Progress
from dph_theory.support.record import record

from ..models.generation import derived_seed
from ..models.load import LoadedModel
from ..presampling.result import Presampling
from ..presampling.stage import prompts_hash
from ..recipe.folders import Folders
from ..recipe.schema import Recipe
from ..storage.journal import SharedJournal
from ..storage.processes import Processes
from ..tasks.protocol import Example, Task
from .answers import Answers
from .record import KIND, EvaluatedSet, Evaluation, ModelHash, PromptAnswers, Rehearsed
from .summary import against_base, summary

JOURNAL = "evaluation.jsonl"
PACKAGES = ("torch", "transformers")
REHEARSED, EXPLORED = "rehearsed", "explored"


@dataclass(frozen=True)
class Batch:
    """A line of the journal: the answers to one batch of a set."""

    set: str
    batch: int
    prompts: tuple[PromptAnswers, ...]


def evaluate(
    recipe: Recipe,
    task: Task,
    trained: LoadedModel,
    *,
    initial: LoadedModel,
    presampling: Presampling,
    folders: Folders | None = None,
    progress: Progress | None = None,
    processes: Processes | None = None,
) -> Evaluation:
    """A model's evaluation, stored as `folders.evaluation`; goes on where it was stopped.

    Batches of prompts are shared out to the `processes` of a launch, and the first makes the record.

    `trained` is what lies in `folders.model`; with `folders = Folders.of(recipe).base()` it is the initial
    model itself, which is to be evaluated first. Each prompt gets one greedy and `evaluate.samples` sampled
    answers, with sequence log-probabilities log_pi under the model and log_ref under the `initial` one, both
    at the sampling temperature. Sets: the task's (or those named by `evaluate.sets`), `rehearsed` (D_pef) and
    `explored` (D_exp), where these are not empty. ValueError for an unknown set, a missing evaluation of the
    base, a folder with an evaluation of something else. `progress` gets ("evaluate", prompts done, prompts).
    """
    folders, processes = folders or Folders.of(recipe), processes or Processes()
    base = _base_sets(recipe, folders)
    sets = evaluation_sets(recipe, task, presampling)
    identity = _identity(recipe, presampling, folders.run, trained, initial, sets)
    journal = SharedJournal(folders.here / JOURNAL, identity, processes)
    answers = Answers(recipe, task, trained.model, initial.model, initial.tokenizer)
    _answer(answers, sets, journal, folders.run, processes, progress)
    processes.wait()
    if processes.rank == 0:
        found = _found(recipe, sets, journal.gathered())
        results = Evaluation(
            run=folders.run,
            model=ModelHash(trained.hashes.model),
            sets={name: _set(recipe, prompts, base.get(name)) for name, prompts in found.items()},
            rehearsed=Rehearsed(tuple(answers.rehearsed(presampling.buffer.rows()))),
        )
        _store(results, recipe, folders)
    processes.wait()
    return Evaluation.read(folders.evaluation)


def _found(
    recipe: Recipe, sets: Mapping[str, Sequence[Example]], done: Mapping[str, Any]
) -> dict[str, list[PromptAnswers]]:
    """The answers to every set, from the journals of all processes."""
    return {
        name: [
            prompt
            for batch in _batches(recipe, examples)
            for prompt in from_json(Batch, done[_key(name, batch)]).prompts
        ]
        for name, examples in sets.items()
    }


def _store(results: Evaluation, recipe: Recipe, folders: Folders) -> None:
    stored = record(
        KIND,
        seed=recipe.seed,
        config=recipe.as_dict(),
        results=as_json(results),
        findings=results.findings,
        packages=PACKAGES,
    )
    write_json(folders.evaluation, stored)


def _answer(
    answers: Answers,
    sets: Mapping[str, Sequence[Example]],
    journal: SharedJournal,
    run: str,
    processes: Processes,
    progress: Progress | None,
) -> None:
    """Answer this process's batches that no earlier start has; each has a seed of its own."""
    recipe, total, count = answers.recipe, sum(map(len, sets.values())), 0
    for name, examples in sets.items():
        answers = replace(answers, together=_of_one_text(examples) if name == EXPLORED else {})
        for batch, chosen in _batches(recipe, examples).items():
            count += len(chosen)
            if batch not in processes.mine(batch + 1):
                continue
            if _key(name, batch) not in journal.entries:
                seed = derived_seed(recipe.seed, "evaluate", run, name, batch)
                answered = Batch(name, batch, tuple(answers.of(chosen, seed)))
                journal.append(_key(name, batch), as_json(answered))
            if progress is not None:
                progress("evaluate", count, total)


def _batches(recipe: Recipe, examples: Sequence[Example]) -> dict[int, Sequence[Example]]:
    size = recipe.sampling.batch_size
    return {batch: examples[at : at + size] for batch, at in enumerate(range(0, len(examples), size))}


def _key(name: str, batch: int) -> str:
    return f"{name}/{batch}"


def _of_one_text(examples: Sequence[Example]) -> dict[str, list[Example]]:
    """The prompts of each text that several have."""
    by_text: dict[str, list[Example]] = {}
    for example in examples:
        by_text.setdefault(example.prompt, []).append(example)
    return {text: found for text, found in by_text.items() if len(found) > 1}


def evaluation_sets(recipe: Recipe, task: Task, presampling: Presampling) -> dict[str, Sequence[Example]]:
    """The sets to evaluate on, at most `evaluate.limit` prompts of each; ValueError for an unknown name."""
    train = {example.id: example for example in task.train}
    available: dict[str, Sequence[Example]] = dict(task.evaluation)
    for name, ids in ((REHEARSED, presampling.pef), (EXPLORED, presampling.exp)):
        unknown = [key for key in ids if key not in train]
        if unknown:
            raise argument_error(
                "presample", unknown[0], f"ids of prompts of the task {task.name!r}; pre-sample again"
            )
        if ids:
            available[name] = [train[key] for key in ids]
    names = recipe.evaluate.sets or tuple(available)
    missing = [name for name in names if name not in (*available, REHEARSED, EXPLORED)]
    if missing:
        raise argument_error("evaluate.sets", missing[0], f"one of {sorted(available)}")
    return {name: available[name][: recipe.evaluate.limit] for name in names if name in available}


def _identity(
    recipe: Recipe,
    presampling: Presampling,
    run: str,
    trained: LoadedModel,
    initial: LoadedModel,
    sets: Mapping[str, Sequence[Example]],
) -> dict[str, Any]:
    return {
        "run": run,
        "model_hash": trained.hashes.model,
        "initial_hash": initial.hashes.model,
        "tokenizer_hash": initial.hashes.tokenizer,
        "chat": recipe.model.chat,
        "seed": recipe.seed,
        # Which tokens are scored together moves no number but by rounding.
        "sampling": {key: value for key, value in vars(recipe.sampling).items() if key != "batch_tokens"},
        "samples": recipe.evaluate.samples,
        "sets": {name: prompts_hash(examples) for name, examples in sets.items()},
        "buffer": presampling.buffer.digest,
    }


def _base_sets(recipe: Recipe, folders: Folders) -> Mapping[str, EvaluatedSet]:
    """The sets of the base's evaluation; of the base itself, none."""
    if folders.run == folders.base().run:
        return {}
    return Evaluation.read(folders.base().evaluation, "dph evaluate --base").sets


def _set(recipe: Recipe, prompts: Sequence[PromptAnswers], base: EvaluatedSet | None) -> EvaluatedSet:
    found = summary(prompts, recipe.evaluate.k)
    if base is not None:
        retention, exploration = against_base(prompts, base.prompts)
        found = replace(found, retention=retention, exploration=exploration)
    return EvaluatedSet(tuple(prompts), found)
