"""A model's answers to prompts, judged, and weighed under the model and under the one it came from."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dph_theory import FORWARD_KL, JENSEN_SHANNON, alpha_divergence

from ..models.generation import Completion, prompt_tokens, sample
from ..models.log_probs import sequence_logps
from ..presampling.buffer import RehearsalRow
from ..recipe.schema import Recipe
from ..storage.tensors import hash_values
from ..tasks.protocol import Example, Score, Task
from .record import PromptAnswers, RehearsedRow

TOKEN_SUMS = (FORWARD_KL, JENSEN_SHANNON, alpha_divergence(0.5))
"""Divergences whose token sums are stored for the rows of the rehearsal buffer (theory B5)."""


@dataclass(frozen=True)
class Answers:
    """A model that answers, the task that judges, and the initial model it is compared with."""

    recipe: Recipe
    task: Task
    model: Any
    initial: Any
    tokenizer: Any
    together: Mapping[str, Sequence[Example]] = field(default_factory=dict)
    """By text, the prompts that share it, where several do: one prompt to the model (theory E5)."""

    def of(self, examples: Sequence[Example], seed: int) -> list[PromptAnswers]:
        """One greedy and `evaluate.samples` sampled answers to each prompt."""
        sampling, n = self.recipe.sampling, self.recipe.evaluate.samples
        prompts = prompt_tokens(self.tokenizer, self.task, examples, chat=self.recipe.model.chat)
        greedy = sample(self.model, self.tokenizer, prompts, 1, sampling, seed, greedy=True)
        drawn = sample(self.model, self.tokenizer, prompts, n, sampling, seed)
        groups = [[*first, *others] for first, others in zip(greedy, drawn, strict=True)]
        texts = [completion.text for group in groups for completion in group]
        scores = self.task.verifier([example for example in examples for _ in range(n + 1)], texts)
        log_pi = self._weighed(self.model, prompts, drawn)
        shared = self._mean_verdicts(examples, drawn)
        log_ref = log_pi if self.initial is self.model else self._weighed(self.initial, prompts, drawn)
        return [
            replace(
                _entry(examples[i], drawn[i], scores[i * (n + 1) : (i + 1) * (n + 1)], log_pi[i], log_ref[i]),
                mean_correct=shared[i],
            )
            for i in range(len(examples))
        ]

    def rehearsed(self, rows: Sequence[RehearsalRow]) -> list[RehearsedRow]:
        """Each row of the rehearsal buffer: log_ref, log_pi, and for some divergences sum_t f(u_t)."""
        found = []
        weighed = self._log_probs(
            self.model, [row.prompt_ids for row in rows], [row.completion_ids for row in rows]
        )
        for row, pi in zip(rows, weighed, strict=True):
            ref = np.array(row.ref_logps)
            sums = {f.name: float(f.on_log_ratio(pi - ref).value.sum()) for f in TOKEN_SUMS}
            found.append(RehearsedRow(row.example_id, float(ref.sum()), float(pi.sum()), sums))
        return found

    def _mean_verdicts(
        self, examples: Sequence[Example], drawn: Sequence[Sequence[Completion]]
    ) -> list[tuple[float, ...] | None]:
        """Each sample's mean verdict over the prompts of its text; None where it is the only one."""
        asked = {(e.prompt, c.text): None for e, group in zip(examples, drawn, strict=True) for c in group}
        pairs = [(e, text) for prompt, text in asked for e in self.together.get(prompt, ())]
        scores = self.task.verifier([e for e, _ in pairs], [text for _, text in pairs]) if pairs else []
        verdicts: dict[tuple[str, str], list[bool]] = {}
        for (example, text), score in zip(pairs, scores, strict=True):
            verdicts.setdefault((example.prompt, text), []).append(score.correct)
        means = {key: sum(each) / len(each) for key, each in verdicts.items()}
        return [
            tuple(means[example.prompt, c.text] for c in group) if example.prompt in self.together else None
            for example, group in zip(examples, drawn, strict=True)
        ]

    def _weighed(
        self, model: Any, prompts: Sequence[Sequence[int]], drawn: Sequence[Sequence[Completion]]
    ) -> list[list[float]]:
        """The log-probability of every completion; equal ones of equal prompts go through the model once."""
        asked = [tuple(prompt) for prompt in prompts]
        pairs = [[(p, c.token_ids) for c in group] for p, group in zip(asked, drawn, strict=True)]
        different = list(dict.fromkeys(pair for group in pairs for pair in group))
        rows = self._log_probs(model, [prompt for prompt, _ in different], [ids for _, ids in different])
        total = {pair: float(row.sum()) for pair, row in zip(different, rows, strict=True)}
        return [[total[pair] for pair in group] for group in pairs]

    def _log_probs(
        self, model: Any, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
    ) -> list[np.ndarray]:
        sampling = self.recipe.sampling
        rows = sequence_logps(
            model, prompts, completions, sampling.temperature, batch_tokens=sampling.batch_tokens
        )
        return [row.astype(np.float64) for row in rows]


def _entry(
    example: Example,
    group: Sequence[Completion],
    scores: Sequence[Score],
    log_pi: list[float],
    log_ref: list[float],
) -> PromptAnswers:
    greedy, *sampled = scores
    return PromptAnswers(
        id=example.id,
        question=hash_values([example.prompt]),
        greedy=int(greedy.correct),
        correct=tuple(int(score.correct) for score in sampled),
        log_pi=tuple(log_pi),
        log_ref=tuple(log_ref),
        styles=tuple(score.style for score in sampled),
        outcomes=dict(Counter(score.outcome for score in sampled)),
        unfinished=sum(not completion.finished for completion in group),
    )
