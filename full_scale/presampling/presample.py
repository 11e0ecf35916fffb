"""The pre-sampling stage: base pass rates, the prompts to rehearse and to explore, the rehearsal buffer."""

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.errors import RefusedError
from dph_theory.support.progress import Progress

from ..models.generation import Completion, check_room, derived_seed, given_to, prompt_tokens, sample
from ..models.load import LoadedModel
from ..models.log_probs import sequence_logps
from ..recipe.folders import Folders
from ..recipe.schema import PresampleConfig, Recipe
from ..storage.journal import SharedJournal, mine
from ..tasks.protocol import Prompt, Score, Task, failures, judged, refuse_all_failed
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
    kept: Sequence[Sequence[int]] = ()
    """The token ids of the correct rollouts that ended by themselves."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """What the verifier said where it failed."""
    cut_off: str = ""
    """How the first rollout ended that was cut off."""


def presample(
    recipe: Recipe, task: Task, initial: LoadedModel, *, progress: Progress | None = None
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
    folder, processes = Folders.of(recipe).presample, PartialState()
    identity = identity_of(recipe, task, initial.hashes)
    if (folder / RECORD).is_file():
        try:
            found = Presampling.load(folder)
            if dict(found.identity) == json.loads(json.dumps(identity)):
                return found
        except (ValueError, RefusedError) as error:
            # The journals hold all that it was made of.
            _LOG.warning("what is damaged is made anew from the rollouts there are: %s", error)
    rolled = SharedJournal(folder / JOURNAL, {**identity, "presample": {"k": recipe.presample.k}})
    check_room("training", *given_to(initial, task, task.train, recipe))
    anchors = anchors_of(recipe, task, initial.hashes) if recipe.presample.anchors else frozenset()
    told = {"anchors": sorted(anchors)} if anchors else {}
    split = SharedJournal(folder / _split_name(recipe.presample), {**identity, **told})
    size, total = recipe.sampling.batch_size, len(task.train)
    for batch in mine(-(-total // size)):
        key, examples = str(batch), task.train[batch * size : (batch + 1) * size]
        if key in rolled.entries and key in split.entries:
            continue
        if key not in rolled.entries:
            rolled.append(key, _rolled_out(recipe, task, initial, examples, batch))
        if key not in split.entries:
            held = [example for example in examples if example.id in anchors]
            rows = (
                _held(recipe, task, initial, held, batch)
                if anchors
                else _split(recipe, task, initial, examples, rolled.entries[key], batch)
            )
            split.append(key, rows)
        if progress is not None:
            progress("presample", min((batch + 1) * size, total), total)
    processes.wait_for_everyone()
    if processes.is_main_process:
        _finish(recipe, task, initial.tokenizer, identity, rolled.gathered(), split.gathered(), folder)
    processes.wait_for_everyone()
    return Presampling.load(folder)


def _split_name(chosen: PresampleConfig) -> str:
    """The journal of a way to split the prompts."""
    if chosen.anchors:
        how = "" if chosen.kernel is None else f"-by-{Path(chosen.kernel).stem}"
        return f"anchors-{chosen.anchors}{how}-{chosen.buffer_per_prompt}.jsonl"
    fresh = "-fresh" if chosen.fresh else ""
    return f"rehearsed-{chosen.threshold}of{chosen.k}{fresh}-{chosen.buffer_per_prompt}.jsonl"


def _drawn(
    recipe: Recipe,
    task: Task,
    initial: LoadedModel,
    examples: Sequence[Prompt],
    n: int,
    place: tuple[str, int],
) -> list[list[tuple[Completion, Score]]]:
    """n rollouts of each example with their verdicts; `place` tells their random numbers from others."""
    prompts = prompt_tokens(initial.tokenizer, task, examples, recipe.model)
    seed = derived_seed(recipe.seed, "presample", *place)
    drawn = sample(initial.model, initial.tokenizer, prompts, n, recipe.sampling, seed)
    asked = [example for example in examples for _ in range(n)]
    scores = iter(judged(task.verifier, asked, [completion.text for group in drawn for completion in group]))
    return [[(completion, next(scores)) for completion in group] for group in drawn]


def _rolled_out(
    recipe: Recipe, task: Task, initial: LoadedModel, examples: Sequence[Prompt], batch: int
) -> list[dict[str, Any]]:
    """The verdicts on a batch of prompts, and their correct rollouts."""
    groups = _drawn(recipe, task, initial, examples, recipe.presample.k, ("rollouts", batch))
    found = [
        RolledOut(
            example.id,
            sum(score.correct for _, score in group),
            sum(not completion.finished for completion, _ in group),
            dict(Counter(score.outcome for _, score in group)),
            [c.token_ids for c, score in group if score.correct and c.finished],
            failures([score for _, score in group]),
            next((completion.text[-_SHOWN:] for completion, _ in group if not completion.finished), ""),
        )
        for example, group in zip(examples, groups, strict=True)
    ]
    return [asdict(entry) for entry in found]


def _split(
    recipe: Recipe,
    task: Task,
    initial: LoadedModel,
    examples: Sequence[Prompt],
    rolled: Sequence[Mapping[str, Any]],
    batch: int,
) -> dict[str, Rows]:
    """The rows to rehearse of the batch's prompts of D_pef, by their ids."""
    chosen, entries = recipe.presample, [RolledOut(**entry) for entry in rolled]
    pef = [
        (e, entry) for e, entry in zip(examples, entries, strict=True) if entry.correct >= chosen.threshold
    ]
    if chosen.fresh:
        again = _drawn(recipe, task, initial, [example for example, _ in pef], 1, ("fresh", batch))
        pef = [pair for pair, [(_, score)] in zip(pef, again, strict=True) if score.correct]
    kept = [entry.kept[: chosen.buffer_per_prompt] for _, entry in pef]
    return _scored(recipe, task, initial, [example for example, _ in pef], kept)


def _held(
    recipe: Recipe, task: Task, initial: LoadedModel, anchors: Sequence[Prompt], batch: int
) -> dict[str, Rows]:
    """Fresh rollouts of the batch's anchors, correct or not."""
    prompts = prompt_tokens(initial.tokenizer, task, anchors, recipe.model)
    seed = derived_seed(recipe.seed, "presample", "anchors", batch)
    count = recipe.presample.buffer_per_prompt
    drawn = sample(initial.model, initial.tokenizer, prompts, count, recipe.sampling, seed)
    return _scored(recipe, task, initial, anchors, [[each.token_ids for each in group] for group in drawn])


def _scored(
    recipe: Recipe,
    task: Task,
    initial: LoadedModel,
    examples: Sequence[Prompt],
    completions: Sequence[Sequence[Sequence[int]]],
) -> dict[str, Rows]:
    """Some completions of each example with their log-probabilities, by its id."""
    prompts, sampling = prompt_tokens(initial.tokenizer, task, examples, recipe.model), recipe.sampling
    found = {}
    for example, prompt, kept in zip(examples, prompts, completions, strict=True):
        given = (initial.model, [prompt] * len(kept), kept, sampling.temperature)
        log_probs = sequence_logps(*given, batch_tokens=sampling.batch_tokens)
        found[example.id] = [(ids, row.tolist()) for ids, row in zip(kept, log_probs, strict=True)]
    return found


def _finish(
    recipe: Recipe,
    task: Task,
    tokenizer: Any,
    identity: Mapping[str, Any],
    rolled: Mapping[str, Any],
    split: Mapping[str, Any],
    folder: Path,
) -> None:
    """Store what all batches came to."""
    batches = range(len(rolled))
    entries = [RolledOut(**entry) for batch in batches for entry in rolled[str(batch)]]
    pef = {name: rows for batch in batches for name, rows in split[str(batch)].items()}
    prompts = prompt_tokens(tokenizer, task, task.train, recipe.model)
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
        rates={entry.id: Rate.of(entry.correct, recipe.presample.k) for entry in entries},
        pef=tuple(entry.id for entry in entries if entry.id in pef),
        exp=tuple(entry.id for entry in entries if entry.id not in pef),
        buffer=RehearsalBuffer.from_rows(rows, manifest),
        outcomes=dict(outcomes),
        unfinished=sum(entry.unfinished for entry in entries),
        identity=identity,
        failures=dict(failed.most_common(_KINDS)),
        cut_off=next((entry.cut_off for entry in entries if entry.cut_off), ""),
    ).save(folder, recipe)
