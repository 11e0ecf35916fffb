"""The kernel of a model's answers, measured prompt by prompt, resumed where it stopped, stored as a file."""

import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import torch
from peft import get_peft_model

from dph_theory.support.errors import argument_error, choice
from dph_theory.support.files import replacing
from dph_theory.support.journal import Journal
from dph_theory.support.progress import Progress, silent
from dph_theory.support.record import versions
from dph_theory.transfer import AnswerKernel
from dph_theory.transfer.kernel import square_root

from ..models.load import LoadedModel, load, lora_config
from ..recipe.schema import ModelConfig, Recipe
from ..sampling.answers import AnsweringModel, judged_answers
from ..storage.tensors import hash_values
from ..tasks.benchmarks import read_rows
from ..tasks.protocol import Task
from .answers import (
    Atom,
    Listed,
    Tokens,
    listed_atoms,
    listed_rows,
    log_probs,
    require_likely_answers,
    sampled_atoms,
)
from .gradients import NUMBERS, Gradients
from .metric import EUCLIDEAN, METRICS, Metric, measured_metric
from .sketch import SIZE, Sketch

TRAIN, HELD_OUT = "train", "held out"
PACKAGES = ("torch", "transformers", "peft")
WRONG = 8
"""So many incorrect answers of a prompt get a gradient of their own: with fewer one that rises on
prompts that are not trained is not seen, with more little is gained."""
_COMPARED_RATES = 16
"""So many trained prompts' gradients give the metric of Adam's steps."""
_SLOW, _DENSE = 2**11, 2**13
"""From so many answers on eigenvalues take minutes; up to so many a kernel has as many numbers for each."""
_ROWS = 256
"""Number of inner products that are computed at once."""
_LARGEST, _SMALLEST = 2**30, 2**10
"""So many numbers at most has a kernel of more answers in all, and so many at least of each."""
Say: TypeAlias = Callable[[Sequence[str]], None]
_LEAST = 1e-6
"""Least probability of all other answers: less is rounding of float32."""


def measure_listed(
    loaded: LoadedModel,
    config: ModelConfig,
    prompts: Sequence[Listed],
    path: Path,
    *,
    wrong: int = WRONG,
    trained: Sequence[str] = (TRAIN,),
    metric: str = EUCLIDEAN,
    progress: Progress = silent,
    say: Say = lambda _: None,
) -> AnswerKernel:
    """The kernel of prompts whose correct answers are known, exact over all answers of their length.

    Parameters: loaded, the model; config, where it is from, and the adapter whose parameters alone count if
    it has one; prompts; path, where the kernel is written; wrong, how many incorrect answers of a prompt get
    a gradient of their own, all others one together; trained, the sets whose prompts are to be; metric,
    one of METRICS: of Adam's steps, or the plain one of gradient descent; say gets the size before any
    gradient is taken. Measurements are stored beside `path` until all are done. Raises ValueError for a half
    measured kernel of other prompts, and for one that is too large for disk or memory.
    Source: ours, theory N.
    """
    choice("metric", metric, METRICS)
    identity = {
        "model": loaded.hashes.as_dict(),
        "lora": config.lora,
        "wrong": wrong,
        "metric": metric,
        "prompts": {i: hash_values([p.name, p.set, p.prompt, p.right]) for i, p in enumerate(prompts)},
    }
    trainable = _trainable(loaded.model, config)
    answers = sum(len(listed.right) + wrong + 1 for listed in prompts)
    work = _Work(trainable, path, identity, answers, progress, say)
    atoms = [(listed.prompt, partial(listed_atoms, trainable, listed, wrong)) for listed in prompts]
    weighed = [pair for pair, listed in zip(atoms, prompts, strict=True) if listed.set in trained]
    work.weigh(weighed, len(prompts))
    work.add_all(atoms)
    named = [(listed.name, listed.set) for listed in prompts]
    return work.finished(named, {"answers": "listed"})


def measure_files(
    config: ModelConfig,
    files: Sequence[Path],
    path: Path,
    *,
    wrong: int = WRONG,
    limit: int | None = None,
    metric: str = EUCLIDEAN,
    **reports: Any,
) -> AnswerKernel:
    """Measure the kernel of files of rows {"prompt", "answers"}: the first is trained on, the others are not.

    A row may name its "set" and its "id", by default the prompt's text; `limit`, at most so many rows of a
    file; `reports`, progress and say. ValueError for rows that do not fit, for a name that comes twice, and
    for answers that the model gives only with a space before them.
    """
    loaded = load(config)
    prompts: list[Listed] = []
    for file, name in zip(files, (TRAIN, *[HELD_OUT] * len(files)), strict=False):
        rows = read_rows(str(file))[:limit]
        prompts += listed_rows(rows, loaded.tokenizer, name)
        require_likely_answers(loaded.model, loaded.tokenizer, rows)
    if repeated := [name for name, count in Counter(listed.name for listed in prompts).items() if count > 1]:
        raise argument_error("prompt", repeated[0], "once in all files, or with an id in each row")
    return measure_listed(loaded, config, prompts, path, wrong=wrong, metric=metric, **reports)


def measure_sampled(
    recipe: Recipe, task: Task, path: Path, *, samples: int = 32, own: int = WRONG, limit: int | None = None,
    metric: str = EUCLIDEAN, progress: Progress = silent, say: Say = lambda _: None,
) -> AnswerKernel:  # fmt: skip
    """The kernel of a recipe's prompts, from answers that its model gave and its verifier judged.

    `own`: so many of a prompt's answers that were drawn more than once get a gradient of their own; the
    others one by correctness, whose square is the product of the gradients of two halves. Prompts without a
    correct answer among `samples`, or without an incorrect one, stay with their measured rates. Else as
    `measure_listed`; the task's training prompts are trained, its evaluation sets held out by name.
    """
    loaded = load(recipe.model, stop=recipe.sampling.stop)
    sets = {TRAIN: task.train, **task.evaluation}
    examples = [(name, example) for name in sets for example in sets[name][:limit]]
    trainable = _trainable(loaded.model, recipe.model)
    answering = AnsweringModel(recipe, task, replace(loaded, model=trainable))
    tokens = answering.prompts([example for _, example in examples])
    identity = {
        "model": loaded.hashes.as_dict(), "lora": recipe.model.lora, "samples": samples, "own": own,
        "metric": metric, "seed": recipe.seed, "sampling": recipe.sampling.drawing(),
        "prompts": {i: hash_values([name, e.id, tokens[i]]) for i, (name, e) in enumerate(examples)},
    }  # fmt: skip
    # Of the samples at most so many are alone, and the others one by correctness.
    work = _Work(trainable, path, identity, (own + 2) * len(examples), progress, say)

    def atoms(number: int) -> list[Atom]:
        chosen = [examples[number][1]]
        (group,) = judged_answers(task, chosen, answering.answers(chosen, samples, recipe.seed + number))
        return sampled_atoms(group, own)

    pairs = [(tuple(prompt), partial(atoms, number)) for number, prompt in enumerate(tokens)]
    weighed = [pair for pair, (name, _) in zip(pairs, examples, strict=True) if name == TRAIN]
    work.weigh(weighed, len(examples))
    work.add_all(pairs)
    named = [(example.id, name) for name, example in examples]
    return work.finished(named, {"answers": f"{samples} sampled"})


def _trainable(model: Any, config: ModelConfig) -> Any:
    """Model in evaluation mode; with an adapter, only the adapter's parameters require gradients."""
    adapter = lora_config(config)
    if adapter is None:
        return model.eval()
    with torch.random.fork_rng():
        torch.manual_seed(0)  # An adapter's first half is drawn: its kernel is to be measured again.
        return get_peft_model(model, adapter).eval()


class _Work:
    """Prompts measured so far, a file each in a folder beside the kernel's, which goes when it is whole."""

    def __init__(
        self, model: Any, path: Path, identity: Mapping[str, Any], answers: int, progress: Progress,
        say: Say,
    ) -> None:  # fmt: skip
        size = min(SIZE, 2 ** int(math.log2(max(_LARGEST / answers, 1))))
        self.model, self.path, self.progress, self.say = model, path, progress, say
        self.identity = {**identity, "numbers": NUMBERS, "sketch": size}
        self.folder = path.with_name(f"{path.name}.parts")
        if not self.folder.exists():
            say([_room(path, answers, size)])
        self.weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.sketch = Sketch(size)
        # What a line is of is in a file, whole before the line is written.
        self.done = Journal(self.folder / "journal.jsonl", self.identity)
        self.gradients = Gradients(model, self.sketch, sizes=self.done.get("sizes"))

    def weigh(self, trained: Sequence[tuple[Tokens, Callable[[], list[Atom]]]], prompts: int) -> None:
        """Measure the kernel's `Metric` on some trained prompts, once, and print time estimates.

        Each trained prompt has its token ids and a function that gives its atoms; `prompts` of them in all
        remain to be measured. The time is printed from the first prompt alone, and after the metric.
        """
        file = self.folder / "metric.npz"
        if "metric" not in self.done:
            places = np.unique(np.linspace(0, len(trained) - 1, _COMPARED_RATES).astype(int))
            first, start = (trained[0][0], trained[0][1]()), perf_counter()
            for _ in self._measured(*first):
                pass
            minutes = (perf_counter() - start) * (prompts + len(places)) / 60
            words = f"about {max(minutes, 0.1):.2g} minutes, by the first prompt"
            self.say([f"{prompts:,} prompts and the metric: {words}"])
            groups = [first, *((trained[i][0], trained[i][1]()) for i in places[1:])]
            matrices, kind, start = self.gradients.matrices, self.identity["metric"], perf_counter()
            settings = matrices, kind, len(trained), self.progress
            measured_metric(self.model, groups, *settings).save(file)
            minutes = (perf_counter() - start) / len(places) * prompts / 60
            self.say(
                [f"the gradients of {prompts:,} prompts will take about {max(minutes, 0.1):.2g} minutes"]
            )
            self.done["metric"] = file.name
        self.gradients.metric = Metric.load(file)

    def add_all(self, prompts: Sequence[tuple[Tokens, Callable[[], list[Atom]]]]) -> None:
        """Measure the prompts (token ids, function that gives their atoms) that are not stored yet."""
        for number, prompt in enumerate(prompts):
            self._add(number, *prompt)
            self.progress("gradients", number + 1, len(prompts))

    def _add(self, number: int, prompt: Tokens, atoms: Callable[[], list[Atom]]) -> None:
        """Measure the prompt of that number and store it, unless it is stored."""
        file = self.folder / f"{number}.npz"
        if file.name in self.done:
            return
        measured_atoms = atoms()
        rows, selves, shares = [], [], []
        for atom, sketch, own, log_p in self._measured(prompt, measured_atoms):
            rows.append(sketch)
            selves.append(own)
            shares.append(math.exp(log_p) if atom.share is None else atom.share)
            if atom.share is not None and len(atom.answers) == 1:
                # Another draw is this very answer with its own probability alone.
                selves[-1] *= min(1.0, math.exp(log_p) / atom.share)
        if measured_atoms[0].share is None:
            _add_all_others(rows, selves, shares)
        correct = [atom.correct for atom in measured_atoms] + [False] * (len(rows) - len(measured_atoms))
        with replacing(file) as part, part.open("wb") as out:
            np.savez(out, rows=torch.stack(rows).numpy(), share=shares, self=selves, correct=correct)
        self.done[file.name] = len(rows)

    def _measured(
        self, prompt: Tokens, atoms: Sequence[Atom]
    ) -> Iterator[tuple[Atom, torch.Tensor, float, float]]:
        """Yield for each atom its mean gradient's sketch, squared norm (by halves if possible), and log p."""
        sketches: list[tuple[torch.Tensor, float]] = []
        with self.gradients.watching():
            for scores in log_probs(
                self.model, prompt, [answer for atom in atoms for answer in atom.answers]
            ):
                sketches += zip(self.gradients(scores), scores.tolist(), strict=True)
        if "sizes" not in self.done:
            self.done["sizes"] = self.gradients.sizes
        remaining = iter(sketches)
        for atom in atoms:
            count = len(atom.answers)
            rows, logs = zip(*islice(remaining, count), strict=True)
            first, second = (
                torch.stack(half).sum(dim=0) if half else 0 * rows[0] for half in (rows[::2], rows[1::2])
            )
            own = first @ second / ((count + 1) // 2 * (count // 2)) if count > 1 else first @ first
            yield atom, (first + second) / count, float(own), logs[-1]

    def finished(self, named: Sequence[tuple[str, str]], about: Mapping[str, Any]) -> AnswerKernel:
        """Join all prompts, `named` as (name, set), to a kernel with notes `about`; drop the parts."""
        parts = [self._part(number, "share", "self", "correct") for number in range(len(named))]
        sizes = [len(part["share"]) for part in parts]
        squares = np.concatenate([part["self"] for part in parts])
        gradients = self._sketches(len(named), len(squares))
        if len(squares) > _DENSE:
            noise = {"noise": round(float(1 - squares.sum() / np.einsum("ij,ij->", gradients, gradients)), 4)}
        else:
            if len(squares) > _SLOW:
                self.say([f"after all products the eigenvalues of {len(squares):,} answers: some minutes"])
            products = np.empty(2 * squares.shape)
            for start in range(0, len(products), _ROWS):
                products[start : start + _ROWS] = gradients[start : start + _ROWS] @ gradients.T
                self.progress("inner products", min(start + _ROWS, len(products)), len(products))
            products[np.diag_indices(len(products))] = squares
            gradients, share = square_root(products)
            self.progress("eigenvalues", 1, 1)
            noise = {"negative": round(share, 4)}
        shares = [part["share"] / part["share"].sum() for part in parts]
        description = {
            **about, **self.identity, "versions": versions(*PACKAGES), "adam": self.gradients.metric.step,
            "parameters": sum(weight.numel() for weight in self.weights),
            **(noise if "samples" in self.identity else {}),
        }  # fmt: skip
        del description["prompts"]
        kernel = AnswerKernel(
            names=tuple(name for name, _ in named),
            sets=tuple(set_name for _, set_name in named),
            prompt=np.repeat(np.arange(len(parts)), sizes),
            log_p=np.log(np.concatenate(shares)),
            correct=np.concatenate([part["correct"] for part in parts]).astype(bool),
            gradients=gradients,
            about=description,
        )
        kernel.save(self.path)
        shutil.rmtree(self.folder)
        return kernel

    def _part(self, number: int, *names: str) -> dict[str, np.ndarray]:
        """Stored arrays of the prompt of that number, by name."""
        with np.load(self.folder / f"{number}.npz") as stored:
            return {name: stored[name] for name in names}

    def _sketches(self, prompts: int, answers: int) -> np.ndarray:
        """Gradient sketches (answers, size) of all prompts' answers, float32."""
        sketches, end = np.empty((answers, self.sketch.size), np.float32), 0
        for number in range(prompts):
            rows = self._part(number, "rows")["rows"]
            sketches[end : (end := end + len(rows))] = rows
            self.progress("gradients put together", number + 1, prompts)
        return sketches


def _room(path: Path, answers: int, size: int) -> str:
    """Words on the memory that a kernel of that size takes; ValueError if it is not available."""
    vectors, gib = 4 * answers * size, 2**30
    width = answers if answers <= _DENSE else size
    memory, disk = (
        vectors + (6 * 8 * answers**2 if answers <= _DENSE else vectors),
        vectors + 4 * answers * width,
    )
    free, memory_there = (
        shutil.disk_usage(path.parent).free,
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    )
    needs = (
        f"{disk / gib:.2g} GiB on disk until the kernel is whole, {4 * answers * width / gib:.2g} then, and"
        f" {memory / gib:.2g} of memory"
    )
    if disk > free or memory > memory_there or size < _SMALLEST:
        allowed = (
            f"{_LARGEST // _SMALLEST:,} at most, and what fits {free / gib:.0f} GiB of disk and"
            f" {memory_there / gib:.0f} of memory ({needs}): fewer prompts (--limit), or answers (--own)"
        )
        raise argument_error("answers", answers, allowed)
    return f"at most {answers:,} answers, {size:,} numbers each: {needs}"


def _add_all_others(rows: list[torch.Tensor], selves: list[float], shares: list[float]) -> None:
    """Append the row of all other answers together; its gradient is minus the weighted sum of the rows."""
    rest = max(1 - sum(shares), _LEAST)
    total = torch.stack([share * row for share, row in zip(shares, rows, strict=True)]).sum(dim=0)
    rows.append(-total / rest)
    selves.append(float(rows[-1] @ rows[-1]))
    shares.append(rest)
