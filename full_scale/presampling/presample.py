"""The pre-sampling stage: base pass rates, the prompts to rehearse and to explore, the rehearsal buffer."""

import json
import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.errors import RefusedError
from dph_theory.support.progress import Progress, silent

from ..models.answering import AnsweringModel, judged_answers, own_batches
from ..models.generation import Completion, check_room, derived_seed, given_to
from ..models.load import LoadedModel
from ..recipe.folders import Folders
from ..recipe.schema import PresampleConfig, Recipe
from ..storage.journal import SharedJournal
from ..tasks.protocol import Prompt, Score, Task, failures, refuse_all_failed
from .anchors import anchors_of
from .buffer import RehearsalBuffer, RehearsalRow
from .result import JOURNAL, RECORD, Presampling, Rate, identity_of

_LOG = logging.getLogger(__name__)
Rows = list[tuple[Sequence[int], list[float]]]
"""Completions with the log-probability of each token."""
_SHOWN = 40
"""Characters of a rollout that was cut off."""
_KINDS = 20
"""Failures of the verifier that are kept in words."""


@dataclass(frozen=True)
class RolledOut:
    """What a prompt's rollouts gave, as the journal keeps it."""

    id: str
    correct: int
    unfinished: int
    outcomes: Mapping[str, int]
    completions: Sequence[Sequence[int]] = ()
    """The token ids of the correct rollouts that ended by themselves."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """What the verifier said where it failed."""
    cut_off: str = ""
    """How the first rollout ended that was cut off."""


def presample(
    recipe: Recipe, task: Task, initial: LoadedModel, *, progress: Progress = silent
) -> Presampling:
    """Measure the initial model on the training prompts, from where an earlier start was stopped.

    k rollouts of each prompt; one with at least `threshold` correct is rolled out once more (`fresh`), and
    belongs to D_pef if that is correct too, otherwise to D_exp. The first `buffer_per_prompt` correct
    rollouts of D_pef that ended by themselves are the rehearsal buffer, repeats included: samples of p_*,
    with their log-probabilities at the sampling temperature. A rollout cut off at max_new_tokens counts in
    the rate as it does in training, and is not rehearsed. With another threshold the prompts are split anew
    from the rollouts there are. With `anchors` so many prompts stand in the place of D_pef, and give fresh
    rollouts, correct or not: samples of the base. Batches of prompts are shared out to the processes of a
    launch; the result depends neither on their number nor on where it was stopped. ValueError if the folder
    holds another recipe's pre-sampling. `progress` gets ("presample", prompts done, prompts). Source:
    li2025choice.
    """
    folder, processes = Folders.of_recipe(recipe).presample, PartialState()
    identity = identity_of(recipe, task, initial.hashes)
    if (folder / RECORD).is_file():
        try:
            finished = Presampling.load(folder)
            if dict(finished.identity) == json.loads(json.dumps(identity)):
                return finished
        except (ValueError, RefusedError) as error:
            # The journals hold all that it was made of.
            _LOG.warning("what is damaged is made anew from the rollouts there are: %s", error)
    rolled = SharedJournal(folder / JOURNAL, {**identity, "presample": {"k": recipe.presample.k}})
    check_room("training", *given_to(initial, task, task.train, recipe))
    anchors = anchors_of(recipe, task, initial.hashes) if recipe.presample.anchors else frozenset()
    split_identity = {**identity, "anchors": sorted(anchors)} if anchors else identity
    split = SharedJournal(folder / _split_name(recipe.presample), split_identity)
    rollouts = _InitialRollouts(recipe, task, initial)
    size, report = recipe.sampling.batch_size, partial(progress, "presample")
    for batch, examples in own_batches(task.train, size, report, len(task.train)):
        key = str(batch)
        if key not in rolled:
            rolled.append(key, rollouts.entries(examples, batch))
        if key not in split:
            split.append(key, rollouts.rows(examples, rolled[key], anchors, batch))
    processes.wait_for_everyone()
    if processes.is_main_process:
        rolled.gather()
        split.gather()
        _finish(rollouts, identity, rolled, split, folder)
    processes.wait_for_everyone()
    return Presampling.load(folder)


def _split_name(chosen: PresampleConfig) -> str:
    """The journal of a way to split the prompts."""
    if chosen.anchors:
        choice = "" if chosen.kernel is None else f"-by-{Path(chosen.kernel).stem}"
        return f"anchors-{chosen.anchors}{choice}-{chosen.buffer_per_prompt}.jsonl"
    fresh = "-fresh" if chosen.fresh else ""
    return f"rehearsed-{chosen.threshold}of{chosen.k}{fresh}-{chosen.buffer_per_prompt}.jsonl"


@dataclass(frozen=True)
class _InitialRollouts(AnsweringModel):
    """Rollouts of the initial model to some of the training prompts, and what is stored of them."""

    def drawn(self, examples: Sequence[Prompt], n: int, *place: str | int) -> list[list[Completion]]:
        """n rollouts of each example; `place` tells their random numbers from others."""
        return self.answers(examples, n, derived_seed(self.recipe.seed, "presample", *place))

    def entries(self, examples: Sequence[Prompt], batch: int) -> list[dict[str, Any]]:
        """The verdicts on a batch of prompts, and their correct rollouts."""
        drawn = self.drawn(examples, self.recipe.presample.k, "rollouts", batch)
        groups = judged_answers(self.task, examples, drawn)
        return [asdict(_rolled_out(example, group)) for example, group in zip(examples, groups, strict=True)]

    def rows(
        self, examples: Sequence[Prompt], entries: Sequence[Any], anchors: Collection[str], batch: int
    ) -> dict[str, Rows]:
        """The rows to rehearse of the batch: of its anchors, if there are any at all, or of D_pef."""
        chosen, pairs = self.recipe.presample, zip(examples, entries, strict=True)
        if anchors:  # Fresh rollouts, correct or not.
            pinned = [example for example in examples if example.id in anchors]
            drawn = self.drawn(pinned, chosen.buffer_per_prompt, "anchors", batch)
            return self._with_log_probs(pinned, [[rollout.token_ids for rollout in group] for group in drawn])
        pef = [(e, entry["completions"]) for e, entry in pairs if entry["correct"] >= chosen.threshold]
        if chosen.fresh:
            again = [example for example, _ in pef]
            fresh = judged_answers(self.task, again, self.drawn(again, 1, "fresh", batch))
            pef = [pair for pair, [(_, score)] in zip(pef, fresh, strict=True) if score.correct]
        completions = [correct[: chosen.buffer_per_prompt] for _, correct in pef]
        return self._with_log_probs([example for example, _ in pef], completions)

    def _with_log_probs(
        self, examples: Sequence[Prompt], completions: Sequence[Sequence[Sequence[int]]]
    ) -> dict[str, Rows]:
        """Some completions of each example with their log-probabilities, by its id."""
        rows = {}
        for example, prompt, ids in zip(examples, self.prompts(examples), completions, strict=True):
            log_probs = self.log_probs([prompt] * len(ids), ids)
            rows[example.id] = [(row, scores.tolist()) for row, scores in zip(ids, log_probs, strict=True)]
        return rows


def _rolled_out(example: Prompt, rollouts: Sequence[tuple[Completion, Score]]) -> RolledOut:
    scores = [score for _, score in rollouts]
    correct = [completion for completion, score in rollouts if score.correct]
    cut_off = [completion for completion, _ in rollouts if not completion.finished]
    return RolledOut(
        id=example.id,
        correct=len(correct),
        unfinished=len(cut_off),
        outcomes=dict(Counter(score.outcome for score in scores)),
        completions=[completion.token_ids for completion in correct if completion.finished],
        failures=failures(scores),
        cut_off=cut_off[0].text[-_SHOWN:] if cut_off else "",
    )


def _finish(
    rollouts: _InitialRollouts, identity: Mapping[str, Any], rolled: SharedJournal, split: SharedJournal,
    folder: Path,
) -> None:  # fmt: skip
    """Store what all batches came to."""
    recipe, task = rollouts.recipe, rollouts.task
    batches = range(-(-len(task.train) // recipe.sampling.batch_size))
    entries = [RolledOut(**entry) for batch in batches for entry in rolled[str(batch)]]
    pef = {name: rows for batch in batches for name, rows in split[str(batch)].items()}
    prompts = rollouts.prompts(task.train)
    rows = [
        RehearsalRow(entry.id, prompt, ids, log_probs)
        for entry, prompt in zip(entries, prompts, strict=True)
        for ids, log_probs in pef.get(entry.id, ())
    ]
    names = ("model_hash", "tokenizer_hash", "seed", "dtype")
    manifest = {name: identity[name] for name in names} | {"temperature": recipe.sampling.temperature}
    outcomes, failed = Counter[str](), Counter[str]()
    for entry in entries:
        outcomes.update(entry.outcomes)
        failed.update(entry.failures)
    refuse_all_failed(failed, outcomes.total())
    Presampling(
        rates={entry.id: Rate.of_counts(entry.correct, recipe.presample.k) for entry in entries},
        pef=tuple(entry.id for entry in entries if entry.id in pef),
        exp=tuple(entry.id for entry in entries if entry.id not in pef),
        buffer=RehearsalBuffer.from_rows(rows, manifest),
        outcomes=dict(outcomes),
        unfinished=sum(entry.unfinished for entry in entries),
        identity=identity,
        failures=dict(failed.most_common(_KINDS)),
        cut_off=next((entry.cut_off for entry in entries if entry.cut_off), ""),
    ).save(folder, recipe)
