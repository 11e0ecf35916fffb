"""Sample a model's answers to prompts, judge them, count the correct ones: resumed where it stopped."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from accelerate import PartialState

from dph_theory.checkpoints.counts import MOST_ANSWERS
from dph_theory.checkpoints.pass_at_k import curves
from dph_theory.intervals import Estimate, bounded_means
from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import STANDARD_OUTPUT, replacing, write_json
from dph_theory.support.journal import require_same
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import as_json, from_json, read_record, record

from ..models.generation import DRAWN, Completion, derived_seed, given_to
from ..models.load import device, load, stop_tokens
from ..recipe.schema import ModelConfig, Recipe, SamplingConfig
from ..storage.journal import SharedJournal
from ..storage.locks import locked
from ..tasks.benchmarks import ExampleSource
from ..tasks.loaders import TEXTS, Options, verifier_name, verifier_of
from ..tasks.protocol import (
    Prompt,
    RewardWithoutThresholdError,
    Score,
    Task,
    bound_to,
    failures,
    failures_text,
    refuse_all_failed,
)
from .answers import AnsweringModel, judged_answers, own_batches
from .prompts import PromptStream
from .server import AnsweringServer

KIND, JOURNAL = "full_scale.count", "answers.jsonl"
PACKAGES = ("torch", "transformers")
_MANY = 0.05
"""Share of answers cut off from which it is said."""


@dataclass(frozen=True, kw_only=True)
class CountSettings:
    """Settings of a count: a model, prompts and a verifier, and how answers are sampled.

    `model` is what `AutoModelForCausalLM` loads, an adapter's folder too, or with `server`, a URL, the name
    that a server has for it. `prompt`, `answer` and `column` name the columns of a prompt's text, of what its
    answers are judged by, and of its id. `chat` is by default whether the tokenizer has a template, and true
    of a server. `correct_from` is the least reward of a correct answer. `keep` stores the answers too.
    """

    model: str
    prompts: str
    verifier: str
    n: int = 64
    server: str | None = None
    prompt: str | None = None
    answer: str | None = None
    column: str | None = None
    split: str = "train"
    subset: str | None = None
    limit: int | None = None
    chat: bool | None = None
    max_tokens: int = 1024
    correct_from: float | None = None
    keep: bool = False
    batch_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_ANSWERS:
            raise argument_error("n", self.n, f"from 1 to {MOST_ANSWERS:,} answers to each prompt")
        verifier_name(self.verifier)

    @property
    def stream(self) -> PromptStream:
        """Prompts to be answered, with their reference answers, read one at a time."""
        verifier = verifier_name(self.verifier)
        answer = self.answer or ("answer" if verifier.startswith(TEXTS) else None)
        place: Any = {"data": self.prompts, "split": self.split, "subset": self.subset, "limit": self.limit}
        source = ExampleSource("dataset", **place, question=self.prompt, answer=answer, verifier=verifier)
        return PromptStream(source, self.column)

    def recipe(self, *, chat: bool) -> Recipe:
        """Recipe by which the model is loaded and sampled: at temperature 1, without truncation."""
        model = ModelConfig(self.model, "bfloat16" if device() == "cuda" else "float32", chat=chat)
        sampling = SamplingConfig(max_new_tokens=self.max_tokens, batch_size=self.batch_size)
        return Recipe(seed=self.seed, model=model, sampling=sampling)


@dataclass(frozen=True)
class Counted:
    """Number of prompts with c correct answers of n, by c; answers cut off, and the verifier's failures."""

    n: int
    prompts: Mapping[int, int]
    unfinished: int
    failures: Mapping[str, int]

    @property
    def pass_at_k(self) -> dict[int, Estimate]:
        """Pass@k at k = 1, 8 and n, with simultaneous 95% intervals over prompts."""
        c, ks = np.repeat([*self.prompts], [*self.prompts.values()]), sorted({1, min(8, self.n), self.n})
        values = curves(np.full(len(c), self.n), c, ks)
        low, high = bounded_means(values, np.random.default_rng(0), low=0.0)
        columns = zip(ks, values.mean(axis=0), low, high, strict=True)
        return {k: Estimate(*map(float, numbers)) for k, *numbers in columns}

    @property
    def sentences(self) -> list[str]:
        """Sentences on the counted pass rates, and warnings about them."""
        total = sum(self.prompts.values())
        always, never = (self.prompts.get(c, 0) / total for c in (self.n, 0))
        mixed = sum(count for c, count in self.prompts.items() if 0 < c < self.n) / total
        words = [
            f"{f'Pass@{k}':8} {x.value:.3f} [{x.low:.3f}, {x.high:.3f}]" for k, x in self.pass_at_k.items()
        ]
        shares = f"{always:.3f} always right, {never:.3f} never, {mixed:.3f} mixed"
        words.append(f"Of {total:,} prompts {shares} (n = {self.n:,}).")
        if (cut_off := self.unfinished / (self.n * total)) >= _MANY:
            words.append(f"{cut_off:.3f} of the answers were cut off: --max-tokens gives them more.")
        if self.failures:
            words.append(f"The verifier failed, which counts as incorrect: {failures_text(self.failures)}.")
        return words


def count(
    settings: CountSettings, path: Path, *, progress: Progress = silent, say: Callable[[list[str]], None]
) -> Counted:
    """Count a model's correct answers to prompts, as JSON lines {"id", "n", "c"} at `path`.

    Finished batches of prompts stay in a folder beside `path`, and the same call goes on from them; beside
    the file `path`.about.json says what it is of. Batches are shared out to the processes of a launch.
    `progress` gets ("count", prompts done, prompts), `say` how the model's own sampling differs. ValueError
    and RefusedError name what is wrong with prompts, model, verifier or server, or what differs from what
    lies at `path` already.
    """
    if path == STANDARD_OUTPUT:
        raise argument_error("to", "-", "a file: an interrupted count goes on from what lies beside it")
    stream, processes = settings.stream, PartialState()
    survey, folder = stream.survey(), path.with_name(f"{path.name}.parts")
    own = {} if settings.correct_from is None else {"correct_from": settings.correct_from}
    verifier = verifier_of(Options(own=own), {verifier_name(settings.verifier)})
    task = Task("count", [survey.longest], {}, verifier)
    try:
        model, identity = _answering(settings, task, say)
        identity |= {
            "n": settings.n,
            "seed": settings.seed,
            "chat": model.recipe.model.chat,
            "sampling": model.recipe.sampling.drawing(),
            "prompts": survey.sha256,
            "verifier": {"name": settings.verifier, **bound_to(verifier)},
            "keep": settings.keep,
        }
        with locked(folder):
            if not path.is_file():
                journal = SharedJournal(folder / JOURNAL, identity)
                report = partial(progress, "count")
                for batch, examples in own_batches(stream, _size(settings), report, survey.prompts):
                    if str(batch) not in journal:
                        seed = derived_seed(settings.seed, "count", batch)
                        answers = model.answers(examples, settings.n, seed)
                        groups = _judged(task, examples, answers, folder)
                        journal[str(batch)] = _entry(examples, groups, settings.keep)
                processes.wait_for_everyone()
                if processes.is_main_process:
                    _store(settings, identity, journal, -(-survey.prompts // _size(settings)), path)
                processes.wait_for_everyone()
            counted = _stored(path, identity)
            if processes.is_main_process:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        task.close()
    return counted


def _judged(
    task: Task, examples: Sequence[Prompt], answers: Sequence[Sequence[Completion]], folder: Path
) -> list[list[tuple[Completion, Score]]]:
    """Judged answers; if rewards need a threshold, the count's journals are removed with the error."""
    try:
        return judged_answers(task, examples, answers)
    except RewardWithoutThresholdError:
        for journal in folder.glob(f"{Path(JOURNAL).stem}*"):
            journal.unlink()
        raise


def _size(settings: CountSettings) -> int:
    """Number of prompts answered at once (batch_size answers), which is what an interruption can lose."""
    return max(1, settings.batch_size // settings.n)


def _answering(
    settings: CountSettings, task: Task, say: Callable[[list[str]], None]
) -> tuple[AnsweringModel | AnsweringServer, dict[str, Any]]:
    """Answering model or server, and the settings that identify a count."""
    if settings.server is not None:
        recipe = settings.recipe(chat=settings.chat is not False)
        return AnsweringServer(recipe, task, settings.server), {"model": settings.model}
    loaded = load(settings.recipe(chat=False).model)
    recipe = settings.recipe(chat=bool(loaded.tokenizer.chat_template) and settings.chat is not False)
    if settings.chat and not recipe.model.chat:
        raise argument_error("chat", True, "false: the tokenizer of this model has no chat template")
    (longest,), context, new = given_to(loaded, task, task.train, recipe)
    if context is not None and len(longest) + new > context:
        room = context - len(longest)
        allowed = f"at most {room:,}: of the context's {context:,} the longest prompt takes {len(longest):,}"
        raise argument_error("max_tokens", new, allowed)
    declared = loaded.model.generation_config.to_diff_dict()
    differing = [f"{name}={declared[name]}" for name in (*DRAWN, "repetition_penalty") if name in declared]
    if differing:
        say([f"The model's own generation_config has {', '.join(differing)}: left out, to sample at 1."])
    dtype, ends = recipe.model.dtype, stop_tokens(loaded.model, loaded.tokenizer)
    return AnsweringModel(recipe, task, loaded), {**loaded.hashes.as_dict(), "dtype": dtype, "ends": ends}


def _entry(
    examples: Sequence[Prompt], groups: Sequence[Sequence[tuple[Completion, Score]]], keep: bool
) -> dict[str, Any]:
    """Journal entry of a batch: rows of counts, the number of answers cut off, and verifier failures."""
    rows = []
    for example, group in zip(examples, groups, strict=True):
        verdicts = [int(score.correct) for _, score in group]
        rows.append({"id": example.id, "n": len(group), "c": sum(verdicts)})
        if keep:
            answers, styles = [answer.text for answer, _ in group], [score.style for _, score in group]
            rows[-1] |= {"prompt": example.prompt, "correct": verdicts, "answer": answers}
            rows[-1] |= {"style": styles} if any(styles) else {}
    pairs = [pair for group in groups for pair in group]
    unfinished = sum(not answer.finished for answer, _ in pairs)
    return {"rows": rows, "unfinished": unfinished, "failures": failures([score for _, score in pairs])}


def _store(
    settings: CountSettings, identity: Mapping[str, Any], journal: SharedJournal, batches: int, path: Path
) -> None:
    """Write the description of a count, then the rows of all batches; the rows mark it as finished."""
    journal.gather()
    correct, unfinished, failed = Counter[int](), 0, Counter[str]()
    with replacing(path) as temporary:
        with temporary.open("w", encoding="utf-8") as file:
            for batch in range(batches):
                entry = journal[str(batch)]
                file.writelines(json.dumps(row) + "\n" for row in entry["rows"])
                correct.update(row["c"] for row in entry["rows"])
                unfinished += entry["unfinished"]
                failed.update(entry["failures"])
        refuse_all_failed(failed, settings.n * correct.total())
        counted = Counted(settings.n, dict(sorted(correct.items())), unfinished, dict(failed.most_common(3)))
        results = {"identity": identity, "counted": as_json(counted)}
        described: Any = {"seed": settings.seed, "config": vars(settings), "findings": counted.sentences}
        write_json(_about(path), record(KIND, results=results, packages=PACKAGES, **described))


def _about(path: Path) -> Path:
    """Path of the file that describes the counts at `path`."""
    return path.with_name(f"{path.name}.about.json")


def _stored(path: Path, identity: Mapping[str, Any]) -> Counted:
    """Totals of the finished count at `path`; an error if the file has another count."""
    if not _about(path).is_file():
        raise RefusedError(f"{path} is there already, and is no count of dph: name another file by --to")
    results = read_record(_about(path), KIND, "dph count")["results"]
    require_same(json.loads(json.dumps(identity)), results["identity"], path)
    return from_json(Counted, results["counted"])
