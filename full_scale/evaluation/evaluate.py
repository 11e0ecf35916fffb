"""The evaluation stage: a model's correct answers and styles, and their log-probabilities under the base."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from accelerate import PartialState

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from dph_theory.support.checking import build
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import write_json
from dph_theory.support.journal import difference_of
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, read_record, record

from ..models.generation import Completion, check_room, derived_seed, given_to
from ..models.load import LoadedModel, stop_tokens
from ..presampling.buffer import RehearsalRow
from ..presampling.result import PACKAGES, Presampling, prompt_hashes
from ..recipe.folders import Folders
from ..recipe.schema import DISTRIBUTION, Recipe
from ..sampling.answers import AnsweringModel, judged_answers, own_batches
from ..storage.journal import SharedJournal
from ..storage.tensors import database_hashes, hash_values
from ..tasks.protocol import Prompt, Task, bound_to, matches
from .evaluated_run import (
    KIND,
    EvaluatedSet,
    Evaluation,
    ModelHash,
    PromptAnswers,
    RehearsedRow,
    against_base,
    summary,
)

TOKEN_SUMS = (FORWARD_KL, JENSEN_SHANNON, alpha_divergence(0.5))
"""Divergences whose sums over tokens are stored for each row of the rehearsal buffer."""


@dataclass(frozen=True)
class EvaluatedModel(AnsweringModel):
    """A model that answers judged prompts, together with the initial model for comparison."""

    initial: LoadedModel
    together: Mapping[str, Sequence[Prompt]] = field(default_factory=dict)
    """Prompts grouped by text, for texts that several prompts share: the model sees them as one prompt."""

    def prompt_answers(self, examples: Sequence[Prompt], seed: int) -> list[PromptAnswers]:
        """Draw one greedy answer and `evaluate.samples` sampled answers to each prompt, and judge them."""
        greedy = self.answers(examples, 1, seed, greedy=True)
        drawn = self.answers(examples, self.recipe.evaluate.samples, seed)
        groups = [[*answer, *samples] for answer, samples in zip(greedy, drawn, strict=True)]
        scores = [[score for _, score in group] for group in judged_answers(self.task, examples, groups)]
        log_pi = log_ref = self._sequence_log_probs(self.loaded.model, examples, drawn)
        if self.initial.model is not self.loaded.model:
            log_ref = self._sequence_log_probs(self.initial.model, examples, drawn)
        mean_verdicts = self._mean_verdicts(examples, drawn)
        return [
            PromptAnswers(
                id=example.id,
                question=hash_values([example.prompt]),
                greedy=int(first.correct),
                correct=tuple(int(score.correct) for score in sampled),
                log_pi=tuple(log_pi[i]),
                log_ref=tuple(log_ref[i]),
                styles=tuple(score.style for score in sampled),
                outcomes=dict(Counter(score.outcome for score in sampled)),
                unfinished=sum(not completion.finished for completion in drawn[i]),
                mean_correct=mean_verdicts[i],
            )
            for i, (example, [first, *sampled]) in enumerate(zip(examples, scores, strict=True))
        ]

    def rehearsed(self, rows: Sequence[RehearsalRow]) -> list[RehearsedRow]:
        """Compute log_ref, log_pi and the token sums of TOKEN_SUMS for each row of the rehearsal buffer."""
        values = self.log_probs([row.prompt_ids for row in rows], [row.completion_ids for row in rows])
        ref, pi = np.concatenate([row.ref_logps for row in rows]), np.concatenate(values).astype(np.float64)
        starts = np.cumsum([0, *map(len, values)])[:-1]
        names, columns = [f.name for f in TOKEN_SUMS], [ref, pi]
        columns += [f.on_log_ratio(pi - ref).value for f in TOKEN_SUMS]
        sums = np.transpose([np.add.reduceat(column, starts) for column in columns]).tolist()
        return [
            RehearsedRow(row.example_id, log_ref, log_pi, dict(zip(names, divergences, strict=True)))
            for row, (log_ref, log_pi, *divergences) in zip(rows, sums, strict=True)
        ]

    def _mean_verdicts(
        self, examples: Sequence[Prompt], drawn: Sequence[Sequence[Completion]]
    ) -> list[tuple[float, ...] | None]:
        """Average each sample's reward over the prompts of its text; None if only one prompt has it."""
        answers = {(e.prompt, c.text): None for e, group in zip(examples, drawn, strict=True) for c in group}
        pairs = [(e, text) for prompt, text in answers for e in self.together.get(prompt, ())]
        scores = self.task.verifier([e for e, _ in pairs], [text for _, text in pairs]) if pairs else []
        verdicts: dict[tuple[str, str], list[bool]] = {}
        for (example, text), score in zip(pairs, scores, strict=True):
            verdicts.setdefault((example.prompt, text), []).append(score.correct)
        means = {key: sum(outcomes) / len(outcomes) for key, outcomes in verdicts.items()}
        return [
            tuple(means[example.prompt, c.text] for c in group) if example.prompt in self.together else None
            for example, group in zip(examples, drawn, strict=True)
        ]

    def _sequence_log_probs(
        self, model: Any, examples: Sequence[Prompt], drawn: Sequence[Sequence[Completion]]
    ) -> list[list[float]]:
        """Log-probability of each completion; equal completions of equal prompts are computed once."""
        pairs = [
            [(tuple(prompt), completion.token_ids) for completion in group]
            for prompt, group in zip(self.prompts(examples), drawn, strict=True)
        ]
        different = list(dict.fromkeys(pair for group in pairs for pair in group))
        rows = self.log_probs([prompt for prompt, _ in different], [ids for _, ids in different], model)
        total = {pair: float(row.sum(dtype=np.float64)) for pair, row in zip(different, rows, strict=True)}
        return [[total[pair] for pair in group] for group in pairs]


JOURNAL, DIGITS = "evaluation.jsonl", 8
"""Stored digits of a log-probability; float32 has no more."""
REHEARSED, EXPLORED = "rehearsed", "explored"
Sets = Mapping[str, Sequence[Prompt]]


@dataclass(frozen=True)
class Batch:
    """A line of the journal: the answers to one batch of a set."""

    prompts: tuple[PromptAnswers, ...]


def evaluate(
    recipe: Recipe,
    task: Task,
    trained: LoadedModel,
    *,
    initial: LoadedModel,
    presampling: Presampling,
    folders: Folders | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate a model and store the result as `folders.evaluation`; an interrupted evaluation is resumed.

    The processes of a launch share the batches of prompts; the first process writes the record.

    Each prompt gets one greedy and `evaluate.samples` sampled answers, whose sequence log-probabilities
    log_pi (under `trained`) and log_ref (under `initial`) are at the sampling temperature. Sets are those of
    the task or of `evaluate.sets`, plus `rehearsed` (D_pef) and `explored` (D_exp) unless empty. `trained` is
    the model in `folders.model`, or the initial model for the base, which is evaluated first. `progress` is
    called with ("evaluate", prompts done, prompts). Raises ValueError for an unknown set, a
    missing evaluation of the base, or a folder with another evaluation.
    """
    folders, processes = folders or Folders.of_recipe(recipe), PartialState()
    sets = evaluation_sets(recipe, task, presampling)
    for name, examples in sets.items():
        check_room(name, *given_to(initial, task, examples, recipe))
    answering = EvaluatedModel(recipe, task, trained, initial)
    identity = _identity(answering, presampling, folders.run, sets)
    base: Mapping[str, EvaluatedSet] = {}
    if folders.run != folders.base().run:
        base = _base_sets(recipe, folders.base(), identity)
    journal = SharedJournal(folders.run_folder / JOURNAL, identity, Batch)
    _answer(answering, sets, journal, folders.run, progress)
    processes.wait_for_everyone()
    if processes.is_main_process:
        journal.gather()
        evaluated = {}
        for name, examples in sets.items():
            count = -(-len(examples) // recipe.sampling.batch_size)
            prompts = [entry for batch in range(count) for entry in journal[f"{name}/{batch}"].prompts]
            numbers = summary(prompts, recipe.evaluate.k)
            if name in base:
                retention, exploration = against_base(prompts, base[name].prompts)
                numbers = replace(numbers, retention=retention, exploration=exploration)
            evaluated[name] = EvaluatedSet(tuple(prompts), numbers, matches(task.verifier, examples))
        buffer, size = presampling.buffer, recipe.sampling.batch_size
        slices = (buffer.rows(start, start + size) for start in range(0, len(buffer), size))
        results = Evaluation(
            run=folders.run,
            model=ModelHash(trained.hashes.model),
            sets=evaluated,
            rehearsed=tuple(row for rows in slices for row in answering.rehearsed(rows)),
            initial=ModelHash(initial.hashes.model),
            identity=identity,
        )
        described: Any = {"seed": recipe.seed, "config": recipe.as_dict(), "findings": results.findings}
        described["results"] = as_json(results, DIGITS)
        write_json(folders.evaluation, record(KIND, packages=PACKAGES, **described))
    processes.wait_for_everyone()
    return Evaluation.read(folders.evaluation)


SHARED = ("initial_hash", "tokenizer_hash", "chat", "template", "stop_tokens", "verifier")
"""Parts of an evaluation's identity that must agree between a run and its base."""


def _base_sets(recipe: Recipe, folders: Folders, identity: Mapping[str, Any]) -> Mapping[str, EvaluatedSet]:
    """Base's evaluated sets from its record; ValueError if its model, sampling, data or verifier differ."""
    made_by = "dph evaluate --base --config ..."
    stored = build(Recipe, read_record(folders.evaluation, KIND, made_by)["config"], "")
    base = Evaluation.read(folders.evaluation, made_by)

    def decisive(evaluated: Recipe, answered: Mapping[str, Any]) -> dict[str, Any]:
        values: dict[str, Any] = {"evaluate.samples": evaluated.evaluate.samples}
        values |= {f"sampling.{name}": getattr(evaluated.sampling, name) for name in DISTRIBUTION}
        values |= {name: answered.get(name) for name in SHARED}
        return json.loads(json.dumps(values))

    of_base = decisive(stored, base.identity)
    pairs = [(name, value, of_base[name]) for name, value in decisive(recipe, identity).items()]
    for name, own, other in [*pairs, *_common(identity, base.identity)]:
        if own != other:
            given, words = difference_of(own, other)
            allowed = f"{words}, as for the base; or remove {folders.run_folder}, and run {made_by}"
            raise argument_error(name, given, allowed)
    return base.sets


def _common(own: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the hashes of prompts and databases common to two evaluations, as (name, own, other)."""
    tables = [("databases", own["databases"], other.get("databases", {}))]
    tables += [
        (f"prompts of {name}", hashes, other.get("sets", {}).get(name, {}))
        for name, hashes in own["sets"].items()
    ]
    for name, one, two in tables:
        both = one.keys() & two.keys()
        yield name, {key: one[key] for key in both}, {key: two[key] for key in both}


def _answer(
    answering: EvaluatedModel, sets: Sets, journal: SharedJournal, run: str, progress: Progress
) -> None:
    """Answer the batches of this process that are not in the journal yet; each batch has its own seed."""
    recipe, total, before = answering.recipe, sum(map(len, sets.values())), 0
    size, report = recipe.sampling.batch_size, partial(progress, "evaluate")
    for name, examples in sets.items():
        answering = replace(answering, together=_of_one_text(examples) if name == EXPLORED else {})
        for batch, chosen in own_batches(examples, size, report, total, before):
            if f"{name}/{batch}" not in journal:
                seed = derived_seed(recipe.seed, "evaluate", run, name, batch)
                answered = Batch(tuple(answering.prompt_answers(chosen, seed)))
                journal[f"{name}/{batch}"] = as_json(answered, DIGITS)
        before += len(examples)


def _of_one_text(examples: Sequence[Prompt]) -> dict[str, list[Prompt]]:
    """Group prompts by text, for texts that several prompts share."""
    by_text: dict[str, list[Prompt]] = {}
    for example in examples:
        by_text.setdefault(example.prompt, []).append(example)
    return {text: prompts for text, prompts in by_text.items() if len(prompts) > 1}


def evaluation_sets(recipe: Recipe, task: Task, presampling: Presampling) -> Sets:
    """Sets to evaluate, at most `evaluate.limit` prompts of each; ValueError for an unknown name."""
    train = {example.id: example for example in task.train}
    available: dict[str, Sequence[Prompt]] = dict(task.evaluation)
    for name, ids in ((REHEARSED, presampling.pef), (EXPLORED, presampling.exp)):
        unknown = [key for key in ids if key not in train]
        if unknown:
            raise RefusedError(
                f"the pre-sampling contains prompt {unknown[0]!r}, which the task {task.name!r} lacks: "
                "run dph presample --config ... with another output folder"
            )
        if ids:
            available[name] = [train[key] for key in ids]
    names = recipe.evaluate.sets or tuple(available)
    missing = [name for name in names if name not in (*available, REHEARSED, EXPLORED)]
    if missing:
        raise argument_error("evaluate.sets", missing[0], f"one of {sorted(available)}")
    return {name: available[name][: recipe.evaluate.limit] for name in names if name in available}


def _identity(answering: EvaluatedModel, presampling: Presampling, run: str, sets: Sets) -> dict[str, Any]:
    recipe, trained, initial = answering.recipe, answering.loaded, answering.initial
    return {
        "run": run,
        "model_hash": trained.hashes.model,
        "initial_hash": initial.hashes.model,
        "tokenizer_hash": initial.hashes.tokenizer,
        "chat": recipe.model.chat,
        "template": recipe.model.template,
        "stop_tokens": stop_tokens(trained.model, initial.tokenizer),
        "seed": recipe.seed,
        "sampling": recipe.sampling.drawing(),
        "samples": recipe.evaluate.samples,
        "sets": {name: prompt_hashes(examples) for name, examples in sets.items()},
        "databases": database_hashes(e.reference for examples in sets.values() for e in examples),
        "verifier": bound_to(answering.task.verifier),
        "buffer": presampling.buffer.digest,
    }
