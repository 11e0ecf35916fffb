"""Training of a pretrained Llama on open prompts, and its exact measures."""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from peft import get_peft_model
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from dph_theory.coverage import effective_number
from dph_theory.stationary import valid_answer_shares

from ...models.load import source
from ..enumerable_tasks.tasks import EnumerableTask
from ..small_llama.training import adapter
from .losses import Prompts, anchor_loss, method_of, sampled_loss
from .open_prompts import SOLVED, STORED, OpenPrompts, open_prompts
from .reading import LogProbs, Reading
from .runs import (
    GROUP,
    HELD_OUT,
    MEASURED,
    CoursePoint,
    FinishedOpenRun,
    OpenRun,
    TaskMeasures,
    with_held_out,
)


def peak() -> float:
    """Peak memory of this process, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def task_measures(task: EnumerableTask, full: LogProbs, base: LogProbs, words: Tensor) -> TaskMeasures:
    """Measures of a policy on a task whose `base` has the policy's own tables; KL from full vocabularies."""
    shares = valid_answer_shares(task.base, task.valid, task.end)
    flat = shares.reshape(len(shares), -1)
    first = shares.reshape(len(shares), task.vocabulary, -1).sum(axis=2)[:, :-1]
    several = (task.valid.reshape(len(shares), -1).sum(axis=1) > 1).all()
    return TaskMeasures(
        pass_rate=tuple(task.pass_rates(task.base).tolist()),
        effective_answers=float(effective_number(flat).mean()),
        kl_to_base=float(_kl(full, base, words).mean()),
        first_shares=tuple(map(tuple, first.tolist())) if several else (),
    )


def _kl(full: LogProbs, base: LogProbs, words: Tensor) -> Tensor:
    """KL(pi || base) per text, (texts,), in nats; answers end with the first token that is not a word."""
    below: Tensor | float = 0.0
    for pi, ref in reversed([*zip(full, base, strict=True)]):
        p, terms = pi.double().exp(), pi.double() - ref.double()
        value = (p * terms).sum(dim=-1)
        if isinstance(below, Tensor):
            value = value + (p[..., words] * below).sum(dim=-1)
        below = value
    return torch.as_tensor(below)


class PretrainedLlama:
    """The model, its tokeniser and the base's answers; the weights are restored before each training."""

    def __init__(self, path: str, attention: str = "sdpa") -> None:
        where = source(path)
        self.tokenizer = AutoTokenizer.from_pretrained(**where)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        loaded = AutoModelForCausalLM.from_pretrained(
            **where, dtype=torch.float32, attn_implementation=attention
        )
        self.model: Any = loaded.eval().to(device)
        self._weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        self._bases: dict[tuple[str, ...], dict[str, LogProbs]] = {}

    def reset(self) -> None:
        """Restore the weights as loaded."""
        self.model.load_state_dict(self._weights)
        self.model.requires_grad_(True)  # Removing an adapter leaves all weights frozen.
        self.model.zero_grad(set_to_none=False)

    def reading(self, tasks: Sequence[str]) -> Reading:
        """Reading that computes these tasks' probabilities in one forward pass."""
        return Reading(self.tokenizer, [open_prompts(name) for name in tasks])

    def base(self, reading: Reading) -> dict[str, LogProbs]:
        """Base's log-probabilities by task, cached; first called while the model has the base's weights."""
        key = tuple(reading.tasks)
        if key not in self._bases:
            with torch.no_grad():
                self._bases[key] = reading.log_probs(self.model)
        return self._bases[key]

    def measure(self, step: int, reading: Reading) -> CoursePoint:
        """Measure the policy on all tasks of a reading exactly, as the point of that training step."""
        base, tasks = self._bases[tuple(reading.tasks)], {}
        with torch.no_grad():
            log_probs = reading.log_probs(self.model)
        for name, full in log_probs.items():
            task = reading.enumerable(name, full)
            tasks[name] = task_measures(task, full, base[name], reading.word_ids(name))
        return CoursePoint(step, tasks)


@lru_cache(maxsize=1)
def _loaded(path: str) -> PretrainedLlama:
    torch.set_num_threads(1)
    return PretrainedLlama(path)


def pretrained_llama(path: str) -> PretrainedLlama:
    """The model of that path before training, loaded once per process."""
    llama = _loaded(path)
    llama.reset()
    return llama


# Maps the step and the policy's log-probabilities to a loss.
Loss = Callable[[int, Mapping[str, LogProbs]], Tensor]


def descend(
    llama: PretrainedLlama, run: OpenRun, loss: Loss, reading: Reading, measured: Reading, every: int
) -> FinishedOpenRun:
    """Train from the base and measure on `measured` after every `every` steps and at the end.

    The learning rate is constant for runs on samples, and falls in the second half of runs in expectation.
    """
    weights = [weight for weight in llama.model.parameters() if weight.requires_grad]
    optimiser: torch.optim.Optimizer = torch.optim.SGD(weights, lr=run.learning_rate)
    if run.optimiser == "adam":
        optimiser = torch.optim.AdamW(
            weights, run.learning_rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True
        )
    start, points, spent = time.monotonic(), [llama.measure(0, measured)], 0.0
    for step in range(run.steps):
        begun = time.monotonic()
        falling = min(1.0, 2 * (1 - step / run.steps))
        for group in optimiser.param_groups:
            group["lr"] = run.learning_rate * (falling if run.seed is None else 1.0)
        loss(step, reading.log_probs(llama.model)).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
        spent += time.monotonic() - begun
        if (step + 1) % every == 0 or step + 1 == run.steps:
            points.append(llama.measure(step + 1, measured))
    return FinishedOpenRun(run, tuple(points), {}, time.monotonic() - start, spent / run.steps, peak())


def train_on_samples(path: str, run: OpenRun, anchors: tuple[int, ...] = ()) -> FinishedOpenRun:
    """Train on sampled answers, and measure on all trained and held-out prompts.

    `anchors` are indices of texts in the first task's held-out half.
    """
    llama = pretrained_llama(path)
    pinned = _texts_of(open_prompts(run.tasks[0] + HELD_OUT), anchors)
    trained = [open_prompts(name) for name in run.tasks]
    reading = Reading(llama.tokenizer, [*trained, pinned] if anchors else trained)
    measured = llama.reading(MEASURED if run.experiment == "methods" else with_held_out(run.tasks))
    base = llama.base(reading)
    llama.base(measured)
    if run.rank is not None:
        with torch.random.fork_rng():
            torch.manual_seed(run.seed or 0)  # Seed of an adapter's first half, which is random.
            adapted = get_peft_model(llama.model, adapter(run.rank))
    generator = torch.Generator().manual_seed(run.seed or 0)
    prompts = prompts_of(reading, {name: base[name] for name in run.tasks}, generator)
    pinned_base = whole_answers(base[pinned.name], reading.word_ids(pinned.name)) if anchors else None
    stored = None
    if pinned_base is not None and run.answers is not None:
        stored = torch.multinomial(pinned_base.exp(), run.answers, replacement=True, generator=generator)
    method = method_of(run)

    def loss(step: int, log_probs: Mapping[str, LogProbs]) -> Tensor:
        answers = torch.cat([whole_answers(log_probs[name], reading.word_ids(name)) for name in run.tasks])
        own = sampled_loss(answers, prompts, method, run.coefficient, size=GROUP, generator=generator)
        if pinned_base is None:
            return own
        now = whole_answers(log_probs[pinned.name], reading.word_ids(pinned.name))
        return own + run.coefficient * anchor_loss(now, pinned_base, stored)

    outcome = descend(llama, run, loss, reading, measured, every=run.measured_every)
    if run.rank is not None:
        adapted.unload()
    return outcome


def _texts_of(task: OpenPrompts, texts: Sequence[int]) -> OpenPrompts:
    name = f"{task.name} {', '.join(map(str, texts))}"
    right = tuple(task.right[text] for text in texts)
    return replace(task, name=name, texts=tuple(task.texts[text] for text in texts), right=right)


def whole_answers(tables: LogProbs, words: Tensor) -> Tensor:
    """Log-probabilities of whole answers, (texts, answers); one-token answers are the vocabulary's tokens.

    Two-token answers are all pairs of words, then everything else together.
    """
    if len(tables) == 1:
        return tables[0]
    first, second = tables[0][:, words], tables[1][..., words]
    listed = (first[..., None] + second).flatten(1)
    rest = torch.log(-torch.expm1(listed.logsumexp(dim=1).clamp(max=-1e-6)))
    return torch.cat([listed, rest[:, None]], dim=1)


def prompts_of(reading: Reading, base: Mapping[str, LogProbs], generator: torch.Generator) -> Prompts:
    """Stack all texts of the tasks in `base`, with the base's answer tables, correctness and stored answers.

    `base` has, by name of the task, the base's log-probabilities. Texts that the base solves (pass rate of at
    least SOLVED) are marked as rehearsed, with STORED correct answers drawn from the base.
    """
    tables, verdicts = [], []
    for name, log_probs in base.items():
        tables.append(whole_answers(log_probs, reading.word_ids(name)))
        right = reading.valid(name).flatten(1)
        valid = torch.zeros(tables[-1].shape, dtype=torch.bool)
        valid[:, reading.word_ids(name) if len(log_probs) == 1 else slice(right.shape[1])] = right
        verdicts.append(valid)
    log_ref, valid = torch.cat(tables), torch.cat(verdicts)
    rehearsed = torch.where(valid, log_ref.exp(), 0.0).sum(dim=1) >= SOLVED
    # Correct answers of the base, drawn from p_*.
    masses = torch.where(valid, log_ref.exp(), 0.0)[rehearsed]
    stored = torch.multinomial(masses, STORED, replacement=True, generator=generator)
    return Prompts(log_ref, valid, rehearsed, stored)
