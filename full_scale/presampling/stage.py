"""The pre-sampling stage: base pass rates, the prompts to rehearse and to explore, the rehearsal buffer."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dph_theory.support.progress import Progress

from ..models.generation import Completion, derived_seed, prompt_tokens, sample
from ..models.load import LoadedModel
from ..models.log_probs import sequence_logps
from ..recipe.folders import Folders
from ..recipe.schema import Recipe
from ..storage.journal import Journal
from ..storage.tensors import hash_values
from ..tasks.protocol import Example, Score, Task
from .buffer import RehearsalBuffer, RehearsalRow
from .result import JOURNAL, RECORD, Presampling, Rate


@dataclass(frozen=True)
class RolledOut:
    """What a prompt's rollouts gave, as the journal keeps it."""

    id: str
    correct: int
    unfinished: int
    outcomes: Mapping[str, int]
    pef: bool = False
    rows: Sequence[Sequence[str]] = ()
    """Of D_pef: token ids and log-probabilities of the rows to rehearse, packed."""


def presample(
    recipe: Recipe, task: Task, initial: LoadedModel, *, progress: Progress | None = None
) -> Presampling:
    """Measure the initial model on the training prompts, from where an earlier start was stopped.

    k rollouts of each prompt; one with at least `threshold` correct is rolled out once more (`fresh`), and
    belongs to D_pef if that is correct too, otherwise to D_exp. The first `buffer_per_prompt` correct
    rollouts of D_pef that ended by themselves are the rehearsal buffer, repeats included: samples of p_*,
    with their log-probabilities at the sampling temperature. A rollout cut off at max_new_tokens counts in
    the rate as it does in training, and is not rehearsed. ValueError if the folder holds another recipe's
    pre-sampling. `progress` is called with ("presample", prompts done, prompts). Source: li2025choice.
    """
    folder = Folders.of(recipe).presample
    identity = _identity(recipe, task, initial)
    journal = Journal(folder / JOURNAL, identity)
    if (folder / RECORD).is_file():
        return Presampling.load(folder)
    size, total = recipe.sampling.batch_size, len(task.train)
    entries = [[RolledOut(**entry) for entry in batch] for batch in journal.entries]
    for batch in range(len(entries), -(-total // size)):
        examples = task.train[batch * size : (batch + 1) * size]
        entries.append(_measured(recipe, task, initial, examples, batch))
        journal.append([asdict(entry) for entry in entries[-1]])
        if progress is not None:
            progress("presample", min((batch + 1) * size, total), total)
    return _finish(
        recipe, task, initial.tokenizer, identity, [entry for batch in entries for entry in batch], folder
    )


def _identity(recipe: Recipe, task: Task, initial: LoadedModel) -> dict[str, Any]:
    """What the pre-sampling depends on."""
    return {
        **initial.hashes.as_dict(),
        "dtype": str(initial.model.dtype).removeprefix("torch."),
        "chat": recipe.model.chat,
        "seed": recipe.seed,
        # Which tokens are scored together moves no number but by rounding.
        "sampling": {key: value for key, value in vars(recipe.sampling).items() if key != "batch_tokens"},
        "presample": vars(recipe.presample),
        "task": task.name,
        "prompts": prompts_hash(task.train),
    }


def prompts_hash(examples: Sequence[Example]) -> str:
    """The sha256 of prompts and what they are judged by; where the databases lie does not count."""
    return hash_values(
        [[e.id, e.prompt, {k: v for k, v in e.reference.items() if k != "database"}] for e in examples]
    )


def _measured(
    recipe: Recipe, task: Task, initial: LoadedModel, examples: Sequence[Example], batch: int
) -> list[RolledOut]:
    """A batch of prompts: verdicts, and the correct rollouts of those of D_pef."""
    chosen, model, tokenizer = recipe.presample, initial.model, initial.tokenizer
    prompts = prompt_tokens(tokenizer, task, examples, chat=recipe.model.chat)

    def rolled(which: Sequence[int], n: int, stage: str) -> list[list[tuple[Completion, Score]]]:
        seed = derived_seed(recipe.seed, "presample", stage, batch)
        drawn = sample(model, tokenizer, [prompts[i] for i in which], n, recipe.sampling, seed)
        asked = [examples[i] for i in which for _ in range(n)]
        scores = iter(task.verifier(asked, [c.text for group in drawn for c in group]))
        return [[(completion, next(scores)) for completion in group] for group in drawn]

    groups = rolled(range(len(examples)), chosen.k, "rollouts")
    entries = [_entry(example, group) for example, group in zip(examples, groups, strict=True)]
    pef = [i for i, entry in enumerate(entries) if entry.correct >= chosen.threshold]
    if chosen.fresh:
        pef = [i for i, [(_, score)] in zip(pef, rolled(pef, 1, "fresh"), strict=True) if score.correct]
    for i in pef:
        kept = [
            completion.token_ids for completion, score in groups[i] if score.correct and completion.finished
        ]
        rows = _rows(recipe, model, prompts[i], kept[: chosen.buffer_per_prompt])
        entries[i] = replace(entries[i], pef=True, rows=rows)
    return entries


def _rows(
    recipe: Recipe, model: Any, prompt: Sequence[int], completions: Sequence[Sequence[int]]
) -> list[list[str]]:
    """Token ids and log-probabilities of a prompt's completions, packed."""
    sampling = recipe.sampling
    prompts = [prompt] * len(completions)
    log_probs = sequence_logps(
        model, prompts, completions, sampling.temperature, batch_tokens=sampling.batch_tokens
    )
    return [
        [_packed(np.array(ids, np.int32)), _packed(values)]
        for ids, values in zip(completions, log_probs, strict=True)
    ]


def _entry(example: Example, group: Sequence[tuple[Completion, Score]]) -> RolledOut:
    return RolledOut(
        example.id,
        sum(score.correct for _, score in group),
        sum(not completion.finished for completion, _ in group),
        dict(Counter(score.outcome for _, score in group)),
    )


def _finish(
    recipe: Recipe,
    task: Task,
    tokenizer: Any,
    identity: Mapping[str, Any],
    entries: Sequence[RolledOut],
    folder: Path,
) -> Presampling:
    prompts = prompt_tokens(tokenizer, task, task.train, chat=recipe.model.chat)
    rows = [
        RehearsalRow(entry.id, prompt, _unpacked(ids, np.int32), _unpacked(logps, np.float32))
        for entry, prompt in zip(entries, prompts, strict=True)
        for ids, logps in entry.rows
    ]
    names = ("model_hash", "tokenizer_hash", "seed", "dtype")
    manifest = {name: identity[name] for name in names} | {"temperature": recipe.sampling.temperature}
    outcomes: Counter[str] = Counter()
    for entry in entries:
        outcomes.update(entry.outcomes)
    Presampling(
        rates={entry.id: Rate.of(entry.correct, recipe.presample.k) for entry in entries},
        pef=tuple(entry.id for entry in entries if entry.pef),
        exp=tuple(entry.id for entry in entries if not entry.pef),
        buffer=RehearsalBuffer.from_rows(rows, manifest),
        outcomes=dict(outcomes),
        unfinished=sum(entry.unfinished for entry in entries),
        identity=identity,
    ).save(folder, recipe)
    return Presampling.load(folder)


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _unpacked(text: str, kind: type) -> list[Any]:
    return np.frombuffer(base64.b64decode(text), kind).tolist()
