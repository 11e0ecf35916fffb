"""One training of a pretrained Llama on open prompts, and what it is measured to be, exactly."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from peft import get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback

from dph_theory.coverage import effective_number
from dph_theory.divergences import FORWARD_KL
from dph_theory.stationary import policy_divergence, sequence_policy, token_policy, valid_answer_shares

from ...models.load import source
from ...training.online import OnlineTrainer
from ..enumerable_tasks.box import GlassBox
from ..record import Finished
from ..small_llama.runs import Run
from ..small_llama.training import FallingBeta, adapter, small
from .costs import peak
from .losses import NAMED, Prompts, anchor_loss, expected_loss, lottery_loss, sampled_loss, stored_answers
from .open_prompts import LogProbs, OpenPrompts, Reading, Said, open_prompts, said
from .runs import ANSWERS, BASELINES, GROUP, HELD_OUT, MEASURED, SOLVED, STORED, Measured, OpenRun, Policy


@dataclass(frozen=True)
class Point:
    """The policy after so many steps."""

    step: int
    tasks: Policy


@dataclass(frozen=True)
class Law:
    """Where a form of the KL is predicted to end, or did, of each of the run's tasks."""

    validity: Mapping[str, float]
    first_shares: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class FinishedOpenRun(Finished):
    """A run, its course, how far it ended from each stationary policy (KL to it), and its seconds."""

    run: OpenRun
    course: tuple[Point, ...]
    distances: Mapping[str, float]
    seconds: float
    seconds_a_step: float
    peak_gib: float = 0.0
    """The most memory of the process until then."""
    gap: float | None = None
    """Of the task whose mean pass rate is furthest from that predicted."""

    @property
    def own(self) -> str | None:
        """The form whose stationary policy it has."""
        return _law_of(self.run.form) if self.distances else None


LAWS: Mapping[str, Callable[..., list[np.ndarray]]] = {
    "reward": sequence_policy,
    "k3_corrected": token_policy,
    "k3": partial(token_policy, divergence=FORWARD_KL),
}


def _law_of(form: str) -> str:
    """The form in whose place its law stands."""
    return "k3_corrected" if form == "k2" else form


def law_tables(form: str, box: GlassBox, beta: float) -> list[np.ndarray]:
    """The stationary policy's tables on each text."""
    base = box.of_rows(box.base)
    return LAWS[form](base, box.valid, np.full(len(box.valid), beta), end=box.end)


def measured(box: GlassBox, full: LogProbs, base: LogProbs, words: Tensor) -> Measured:
    """A task's measures; `full` and `base` are over the vocabulary, the box is of the policy's own tables."""
    shares = valid_answer_shares(box.base, box.valid, box.end)
    flat = shares.reshape(len(shares), -1)
    first = shares.reshape(len(shares), box.vocabulary, -1).sum(axis=2)[:, :-1]
    several = (box.valid.reshape(len(shares), -1).sum(axis=1) > 1).all()
    return Measured(
        tuple(box.pass_rates(box.base).tolist()),
        float(effective_number(flat).mean()),
        float(_kl(full, base, words).mean()),
        tuple(map(tuple, first.tolist())) if several else (),
    )


def _kl(full: LogProbs, base: LogProbs, words: Tensor) -> Tensor:
    """KL(pi || base) of answers that end with the first token that is no word, (texts,)."""
    below: Tensor | float = 0.0
    for pi, ref in reversed([*zip(full, base, strict=True)]):
        p, terms = pi.double().exp(), pi.double() - ref.double()
        value = (p * terms).sum(dim=-1)
        if isinstance(below, Tensor):
            value = value + (p[..., words] * below).sum(dim=-1)
        below = value
    return torch.as_tensor(below)


class Lab:
    """The model, its tokenizer and the base's answers; the weights are put back before each training."""

    def __init__(self, path: str, attention: str = "sdpa") -> None:
        where = source(path)
        self.tokenizer = AutoTokenizer.from_pretrained(**where)
        how: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": attention}
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model: Any = AutoModelForCausalLM.from_pretrained(**where, **how).eval().to(device)
        self._weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        self._bases: dict[tuple[str, ...], dict[str, LogProbs]] = {}

    def reset(self) -> None:
        """The weights as they were loaded."""
        self.model.load_state_dict(self._weights)
        self.model.requires_grad_(True)  # An adapter that was taken off leaves all weights frozen.
        self.model.zero_grad(set_to_none=False)

    def reading(self, tasks: Sequence[str]) -> Reading:
        """One pass for these tasks."""
        return Reading(self.tokenizer, [open_prompts(name) for name in tasks])

    def base(self, reading: Reading) -> dict[str, LogProbs]:
        """The base's log-probabilities: to be asked for while the model is the base."""
        key = tuple(reading.tasks)
        if key not in self._bases:
            with torch.no_grad():
                self._bases[key] = reading.log_probs(self.model)
        return self._bases[key]

    def measure(self, step: int, reading: Reading) -> Point:
        """All tasks of the reading, exactly."""
        base = self._bases[tuple(reading.tasks)]
        with torch.no_grad():
            found = reading.log_probs(self.model)
        return Point(
            step,
            {
                name: measured(reading.boxed(name, full), full, base[name], reading.word_ids(name))
                for name, full in found.items()
            },
        )

    def beside_laws(self, reading: Reading, form: str, beta: float) -> tuple[dict[str, float], float]:
        """How far the model is from each stationary policy, and its mean pass rate from that of the form.

        The former are means over the reading's tasks, the latter is of the task that is furthest off.
        """
        with torch.no_grad():
            ends = {name: reading.boxed(name, full) for name, full in reading.log_probs(self.model).items()}
        boxes = {name: reading.boxed(name, full) for name, full in self.base(reading).items()}

        laws = {of: {name: law_tables(of, box, beta) for name, box in boxes.items()} for of in LAWS}

        def far(law: Mapping[str, Any], name: str) -> float:
            return float(policy_divergence(ends[name].base, law[name], end=boxes[name].end).mean())

        def off(name: str) -> float:
            found, wanted = ends[name].pass_rates(ends[name].base), boxes[name].pass_rates(laws[form][name])
            return abs(float(found.mean() - wanted.mean()))

        distances = {of: fmean(far(law, name) for name in reading.tasks) for of, law in laws.items()}
        return distances, max(map(off, reading.tasks))


@cache
def lab(path: str) -> Lab:
    """The laboratory of that model, loaded once a process."""
    torch.set_num_threads(1)
    return Lab(path)


def base_says(path: str, name: str) -> Said:
    """What the base says after the first text of a task that is measured."""
    at = lab(path)
    at.reset()
    return said(at.base(at.reading(MEASURED))[name], at.tokenizer, open_prompts(name))[0]


def predicted_laws(path: str, run: OpenRun) -> dict[str, Law]:
    """Of a run in expectation, all three stationary policies at its beta, of the base's own tables."""
    at = lab(path)
    at.reset()
    reading = at.reading(run.tasks)
    boxes = {name: reading.boxed(name, tables) for name, tables in at.base(reading).items()}
    return {form: _law(boxes, form, run.beta) for form in LAWS}


def _law(boxes: Mapping[str, GlassBox], form: str, beta: float) -> Law:
    validity, shares = {}, {}
    for name, box in boxes.items():
        tables = law_tables(form, box, beta)
        right = valid_answer_shares(tables, box.valid, box.end)
        validity[name] = float(box.pass_rates(tables).mean())
        first = right.reshape(len(right), box.vocabulary, -1).sum(axis=2)[:, :-1]
        shares[name] = tuple(first.mean(axis=0).tolist())
    return Law(validity, shares)


Loss = Callable[[int, Mapping[str, LogProbs]], Tensor]
"""Of the step and the policy's log-probabilities."""


def descend(
    at: Lab, run: OpenRun, loss: Loss, reading: Reading, shown: Reading, every: int
) -> tuple[list[Point], float]:
    """Train from the base: points every so many steps and at the end, and seconds a step.

    The rate is constant for runs on samples, and falls in the second half of those in expectation.
    """
    weights = [each for each in at.model.parameters() if each.requires_grad]
    optimiser: torch.optim.Optimizer = torch.optim.SGD(weights, lr=run.learning_rate)
    if run.experiment != "lottery" and run.optimiser == "adam":
        optimiser = torch.optim.AdamW(
            weights, run.learning_rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True
        )
    points, spent = [at.measure(0, shown)], 0.0
    for step in range(run.steps):
        begun = time.monotonic()
        for group in optimiser.param_groups:
            group["lr"] = run.learning_rate * (
                1.0 if run.seed is not None else min(1.0, 2 * (1 - step / run.steps))
            )
        loss(step, reading.log_probs(at.model)).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
        spent += time.monotonic() - begun
        if (step + 1) % every == 0 or step + 1 == run.steps:
            points.append(at.measure(step + 1, shown))
    return points, spent / run.steps


def train_in_expectation(path: str, run: OpenRun) -> FinishedOpenRun:
    """The run without noise, and how far it ends from each stationary policy."""
    begun, at = time.monotonic(), lab(path)
    at.reset()
    reading = at.reading(run.tasks)
    base = at.base(reading)
    words = {name: reading.word_ids(name) for name in run.tasks}
    valid = {name: reading.valid(name) for name in run.tasks}

    def loss(step: int, found: Mapping[str, LogProbs]) -> Tensor:
        settings: dict[str, Any] = {"form": run.form, "beta": run.beta_at(step)}
        parts = [
            expected_loss(found[name], base[name], words[name], valid[name], **settings) for name in run.tasks
        ]
        return torch.stack(parts).mean()

    points, pace = descend(at, run, loss, reading, reading, every=max(1, run.steps // 6))
    distances, gap = at.beside_laws(reading, _law_of(run.form), run.beta)
    return FinishedOpenRun(run, tuple(points), distances, time.monotonic() - begun, pace, peak(), gap)


def train_on_samples(path: str, run: OpenRun, anchors: tuple[int, ...] = ()) -> FinishedOpenRun:
    """The run of a method on its own samples, measured on all that it trains and does not.

    `anchors`: the texts of the first task's held-out half that are held at the base.
    """
    begun, at = time.monotonic(), lab(path)
    at.reset()
    alone = run.experiment == "lottery"
    beside = shown_with(run.tasks)
    seen = {"lottery": run.tasks, "transfer": beside, "anchors": beside}.get(run.experiment, MEASURED)
    held = _some(open_prompts(run.tasks[0] + HELD_OUT), anchors)
    reading = Reading(at.tokenizer, [*map(open_prompts, run.tasks), *[held] * bool(anchors)])
    shown = at.reading(seen)
    base = at.base(reading)
    at.base(shown)
    if run.rank is not None:
        with torch.random.fork_rng():
            torch.manual_seed(run.seed or 0)  # Of an adapter's first half, which is drawn.
            adapted = get_peft_model(at.model, adapter(run.rank))
    generator = torch.Generator().manual_seed(run.seed or 0)
    prompts = prompts_of(reading, {name: base[name] for name in run.tasks}, generator)
    kept = whole_answers(base[held.name], reading.word_ids(held.name)) if anchors else None
    stored = None
    if kept is not None and run.answers is not None:
        stored = torch.multinomial(kept.exp(), run.answers, replacement=True, generator=generator)

    def loss(step: int, found: Mapping[str, LogProbs]) -> Tensor:
        together = torch.cat([whole_answers(found[name], reading.word_ids(name)) for name in run.tasks])
        if alone:
            baseline = BASELINES[run.form]
            return lottery_loss(together, prompts.valid, baseline, size=ANSWERS, generator=generator)
        method = NAMED[run.form]
        loss = sampled_loss(together, prompts, method, run.beta, size=GROUP, generator=generator)
        if kept is None:
            return loss
        now = whole_answers(found[held.name], reading.word_ids(held.name))
        return loss + run.beta * anchor_loss(now, kept, stored)

    points, pace = descend(
        at, run, loss, reading, shown, every=run.steps if alone else max(1, run.steps // 2)
    )
    if run.rank is not None:
        adapted.unload()
    return FinishedOpenRun(run, tuple(points), {}, time.monotonic() - begun, pace, peak())


def _some(task: OpenPrompts, texts: Sequence[int]) -> OpenPrompts:
    """A task of some of its texts."""
    name = f"{task.name} {', '.join(map(str, texts))}"
    right = tuple(task.right[text] for text in texts)
    return replace(task, name=name, texts=tuple(task.texts[text] for text in texts), right=right)


def whole_answers(tables: LogProbs, words: Tensor) -> Tensor:
    """Log-probabilities of whole answers, (texts, answers): of one token the vocabulary's.

    Of two all pairs of words, then all else together.
    """
    if len(tables) == 1:
        return tables[0]
    first, second = tables[0][:, words], tables[1][..., words]
    listed = (first[..., None] + second).flatten(1)
    rest = torch.log(-torch.expm1(listed.logsumexp(dim=1).clamp(max=-1e-6)))
    return torch.cat([listed, rest[:, None]], dim=1)


def prompts_of(reading: Reading, base: Mapping[str, LogProbs], generator: torch.Generator) -> Prompts:
    """All texts of the reading's tasks; those that the base solves are rehearsed."""
    tables, verdicts = [], []
    for name, found in base.items():
        tables.append(whole_answers(found, reading.word_ids(name)))
        right = reading.valid(name).flatten(1)
        valid = torch.zeros(tables[-1].shape, dtype=torch.bool)
        valid[:, reading.word_ids(name) if len(found) == 1 else slice(right.shape[1])] = right
        verdicts.append(valid)
    log_ref, valid = torch.cat(tables), torch.cat(verdicts)
    rehearsed = torch.where(valid, log_ref.exp(), 0.0).sum(dim=1) >= SOLVED
    return Prompts(log_ref, valid, rehearsed, stored_answers(log_ref, valid, rehearsed, STORED, generator))


def shown_with(tasks: Sequence[str]) -> tuple[str, ...]:
    """Tasks and their held-out halves."""
    return (*tasks, *(name + HELD_OUT for name in tasks))


def train_under_trl(path: str, run: OpenRun) -> FinishedOpenRun:
    """The run of one prompt by TRL's own trainer, loss and optimiser; the KL in the reward by ours on it."""
    begun, at, (name,) = time.monotonic(), lab(path), run.tasks
    at.reset()
    reading, task = at.reading(run.tasks), open_prompts(name)
    at.base(reading)
    points = [at.measure(0, reading)]
    how: dict[str, Any] = {"group_size": ANSWERS, "steps": run.steps, "learning_rate": run.learning_rate}
    form = "sequence_kl" if run.form == "reward" else run.form
    like = Run("trl", name, form, run.beta, run.beta_from, seed=run.seed or 0, **how)

    words = reading.word_ids(name).tolist()
    right = {tuple(words[place] for place in answer) for answer in reading.valid(name)[0].nonzero().tolist()}

    def verdict(*, completion_ids: list[list[int]], **columns: Any) -> list[float]:
        return [float(tuple(answer) in right) for answer in completion_ids]

    with TemporaryDirectory() as output:
        trainer = OnlineTrainer(
            model=at.model,
            reward_funcs=verdict,
            args=small(task.length, output, ANSWERS, **like.arguments),
            train_dataset=Dataset.from_list([{"prompt": task.texts[0], "example_id": "0"}] * 64),
            processing_class=at.tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        if run.beta_from is not None and form != "sequence_kl":
            trainer.add_callback(FallingBeta(like, trainer))
        trainer.train()
    at.model.eval()
    points.append(at.measure(run.steps, reading))
    spent = time.monotonic() - begun
    distances, gap = at.beside_laws(reading, _law_of(run.form), run.beta)
    return FinishedOpenRun(run, tuple(points), distances, spent, spent / run.steps, peak(), gap)


def conduct(path: str, run: OpenRun, anchors: tuple[int, ...] = ()) -> FinishedOpenRun:
    """A run of any kind, on the model of that path, with its anchors if it has some."""
    if run.experiment == "trl":
        return train_under_trl(path, run)
    if run.seed is None:
        return train_in_expectation(path, run)
    return train_on_samples(path, run, anchors)
