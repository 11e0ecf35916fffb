"""The pre-sampling stage: base pass rates, the prompts to rehearse and to explore, the rehearsal buffer."""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow
from accelerate import PartialState
from pydantic import PlainValidator

from dph_theory.intervals import Rate
from dph_theory.support.errors import RefusedError
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json

from ..models.generation import Completion, check_room, derived_seed, given_to
from ..models.load import LoadedModel
from ..recipe.folders import JOURNAL, RECORD, Folders
from ..recipe.schema import Recipe
from ..sampling.answers import AnsweringModel, judged_answers, own_batches
from ..storage.journal import SharedJournal
from ..storage.tensors import hash_values
from ..tasks.protocol import Prompt, Score, Task, failures, refuse_all_failed
from .anchors import anchors_of
from .buffer import RehearsalBuffer, RehearsalRow, packed, scored, table_of, unpacked
from .result import BUFFER, ROLLING, Presampling, identity_of

_LOG = logging.getLogger(__name__)
Rows = Annotated[pyarrow.Table, PlainValidator(unpacked)]
ScoredRows = Annotated[pyarrow.Table, PlainValidator(lambda text: scored(unpacked(text)))]
_SHOWN = 40
"""Number of characters shown of a rollout that was cut off."""
_KINDS = 20
"""Number of distinct verifier errors that are recorded."""


@dataclass(frozen=True)
class RolledOut:
    """Rollouts of a prompt, summarised for the journal."""

    id: str
    correct: int
    unfinished: int
    outcomes: Mapping[str, int]
    failures: Mapping[str, int] = field(default_factory=dict)
    """Error messages of the verifier, with their counts."""
    cut_off: str = ""
    """Last characters of the first rollout that was cut off."""


@dataclass(frozen=True)
class RolledBatch:
    """A line of the journal of rollouts, with the first correct rollouts that finished as its rows."""

    prompts: tuple[RolledOut, ...]
    rows: Rows


@dataclass(frozen=True)
class SplitBatch:
    """A line of a journal of rehearsed prompts: those of one batch, and their rows for the buffer."""

    pef: tuple[str, ...]
    rows: ScoredRows


def presample(
    recipe: Recipe, task: Task, initial: LoadedModel, *, progress: Progress = silent
) -> Presampling:
    """Measure the initial model on the training prompts, resuming after an interruption.

    Each prompt gets k rollouts. A prompt with at least `threshold` correct ones gets one more rollout if
    `fresh` is set, and belongs to D_pef if that rollout is correct too, otherwise to D_exp. The first
    `buffer_per_prompt` correct finished rollouts of each D_pef prompt form the rehearsal buffer, repeats
    included: samples of p_*, with log-probabilities at the sampling temperature. A rollout cut off at
    max_new_tokens counts in the pass rate, as in training, but is not rehearsed. A new threshold splits the
    prompts again without new rollouts. With `anchors`, that many prompts replace D_pef and contribute fresh
    rollouts, correct or incorrect: samples of the base. The result depends neither on the number of processes
    that share the batches nor on interruptions. Raises ValueError if the folder contains another recipe's
    pre-sampling. `progress` gets ("presample", prompts done, prompts). Source: li2025choice.
    """
    folder, processes = Folders.of_recipe(recipe).presample, PartialState()
    identity = identity_of(recipe, task, initial.hashes)
    if (folder / RECORD).is_file():
        try:
            finished = Presampling.load(folder)
            if finished.identity == identity:
                return finished
        except (ValueError, RefusedError) as error:
            # The journals contain everything needed to rebuild the record.
            _LOG.warning("a damaged result is rebuilt from the stored rollouts: %s", error)
    split_settings = {name: v for name, v in identity.items() if name.startswith("presample.")}
    rolling = {name: v for name, v in identity.items() if name in ROLLING or name not in split_settings}
    rolled = SharedJournal(folder / JOURNAL, rolling, RolledBatch)
    check_room("training", *given_to(initial, task, task.train, recipe))
    anchors = anchors_of(recipe, task, initial.hashes) if recipe.presample.anchors else frozenset()
    split_identity = {**identity, "anchors": sorted(anchors)} if anchors else identity
    name = f"rehearsed-{hash_values(split_settings)[:8]}.jsonl"
    split = SharedJournal(folder / name, split_identity, SplitBatch)
    rollouts = _InitialRollouts(recipe, task, initial)
    size, report = recipe.sampling.batch_size, partial(progress, "presample")
    for batch, examples in own_batches(task.train, size, report, len(task.train)):
        key = str(batch)
        if key not in rolled:
            rolled[key] = rollouts.rolled(examples, batch)
        if key not in split:
            split[key] = rollouts.split(examples, rolled[key], anchors, batch)
    processes.wait_for_everyone()
    if processes.is_main_process:
        rolled.gather()
        split.gather()
        _finish(recipe, task, identity, rolled, split, folder)
    processes.wait_for_everyone()
    return Presampling.load(folder)


@dataclass(frozen=True)
class _InitialRollouts(AnsweringModel):
    """Rollouts of the initial model to training prompts, in the form in which they are stored."""

    def drawn(self, examples: Sequence[Prompt], n: int, *place: str | int) -> list[list[Completion]]:
        """Draw n rollouts of each example, with random numbers derived from `place`."""
        return self.answers(examples, n, derived_seed(self.recipe.seed, "presample", *place))

    def rolled(self, examples: Sequence[Prompt], batch: int) -> dict[str, Any]:
        """Roll out a batch of prompts, and return a `RolledBatch` for the journal."""
        chosen = self.recipe.presample
        groups = judged_answers(self.task, examples, self.drawn(examples, chosen.k, "rollouts", batch))
        rows = []
        for example, group in zip(examples, groups, strict=True):
            finished = [answer.token_ids for answer, score in group if score.correct and answer.finished]
            rows += [RehearsalRow(example.id, (), ids) for ids in finished[: chosen.buffer_per_prompt]]
        prompts = [_rolled_out(example, group) for example, group in zip(examples, groups, strict=True)]
        return {"prompts": as_json(prompts), "rows": packed(table_of(rows))}

    def split(
        self, examples: Sequence[Prompt], batch: RolledBatch, anchors: Collection[str], number: int
    ) -> dict[str, Any]:
        """Select the rehearsed prompts of batch `number` (its anchors, or else D_pef) as a `SplitBatch`."""
        chosen = self.recipe.presample
        if anchors:  # Fresh rollouts, correct or incorrect.
            pef = [example for example in examples if example.id in anchors]
            drawn = self.drawn(pef, chosen.buffer_per_prompt, "anchors", number)
            answers = [
                (e.id, rollout.token_ids) for e, group in zip(pef, drawn, strict=True) for rollout in group
            ]
        else:
            correct = {entry.id: entry.correct for entry in batch.prompts}
            pef = [example for example in examples if correct[example.id] >= chosen.threshold]
            if chosen.fresh:
                fresh = judged_answers(self.task, pef, self.drawn(pef, 1, "fresh", number))
                pef = [example for example, [(_, score)] in zip(pef, fresh, strict=True) if score.correct]
            names = {example.id for example in pef}
            rows = (row for row in batch.rows.to_pylist() if row["example_id"] in names)
            answers = [(row["example_id"], row["completion_ids"]) for row in rows]
        prompts = dict(zip([example.id for example in pef], self.prompts(pef), strict=True))
        scores = self.log_probs([prompts[name] for name, _ in answers], [ids for _, ids in answers])
        scored_rows = [
            RehearsalRow(name, prompts[name], ids, values.tolist())
            for (name, ids), values in zip(answers, scores, strict=True)
        ]
        return {"pef": [*prompts], "rows": packed(table_of(scored_rows))}


def _rolled_out(example: Prompt, rollouts: Sequence[tuple[Completion, Score]]) -> RolledOut:
    scores = [score for _, score in rollouts]
    cut_off = [completion for completion, _ in rollouts if not completion.finished]
    return RolledOut(
        id=example.id,
        correct=sum(score.correct for score in scores),
        unfinished=len(cut_off),
        outcomes=dict(Counter(score.outcome for score in scores)),
        failures=failures(scores),
        cut_off=cut_off[0].text[-_SHOWN:] if cut_off else "",
    )


def _finish(
    recipe: Recipe, task: Task, identity: Mapping[str, Any], rolled: SharedJournal, split: SharedJournal,
    folder: Path,
) -> None:  # fmt: skip
    """Combine all batches into the stored result, with one batch of rows in memory at a time."""
    batches = [str(batch) for batch in range(-(-len(task.train) // recipe.sampling.batch_size))]
    entries = [entry for batch in batches for entry in rolled[batch].prompts]
    outcomes, failed = Counter[str](), Counter[str]()
    for entry in entries:
        outcomes.update(entry.outcomes)
        failed.update(entry.failures)
    refuse_all_failed(failed, outcomes.total())
    pef: dict[str, None] = {}

    def tables() -> Iterator[pyarrow.Table]:
        for batch in batches:
            pef.update(dict.fromkeys((part := split[batch]).pef))
            yield part.rows

    names = ("model_hash", "tokenizer_hash", "seed", "dtype")
    manifest = {name: identity[name] for name in names} | {"temperature": recipe.sampling.temperature}
    buffer = RehearsalBuffer.store(folder / BUFFER, tables(), manifest)
    Presampling(
        rates={entry.id: Rate.of_counts(entry.correct, recipe.presample.k) for entry in entries},
        pef=tuple(pef),
        exp=tuple(entry.id for entry in entries if entry.id not in pef),
        buffer=buffer,
        outcomes=dict(outcomes),
        unfinished=sum(entry.unfinished for entry in entries),
        identity=identity,
        failures=dict(failed.most_common(_KINDS)),
        cut_off=next((entry.cut_off for entry in entries if entry.cut_off), ""),
    ).save(folder, recipe)
