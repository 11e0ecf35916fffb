"""Prompts answered by a model and judged by their task, batch by batch: one way to sample and to judge.

Counting, pre-sampling, evaluation and the kernel of sampled answers draw and judge their answers here. What
each of them keeps of a judged answer is its own business.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np
from accelerate import PartialState

from dph_theory.support.progress import StageProgress

from ..models.generation import Completion, prompt_tokens, sample
from ..models.load import LoadedModel
from ..models.log_probs import sequence_logps
from ..recipe.schema import Recipe
from ..tasks.protocol import Prompt, Score, Task, judged


@dataclass(frozen=True)
class AnsweringModel:
    """A model that answers the prompts of a task, made for it and sampled as a recipe says."""

    recipe: Recipe
    task: Task
    loaded: LoadedModel

    def prompts(self, examples: Sequence[Prompt]) -> list[list[int]]:
        """Token ids of the prompts, formatted for this model."""
        return prompt_tokens(self.loaded.tokenizer, self.task, examples, self.recipe.model)

    def answers(
        self, examples: Sequence[Prompt], n: int, seed: int, *, greedy: bool = False
    ) -> list[list[Completion]]:
        """Sample n answers to each prompt (or one greedy answer); a list per prompt."""
        model, tokenizer = self.loaded.model, self.loaded.tokenizer
        return sample(model, tokenizer, self.prompts(examples), n, self.recipe.sampling, seed, greedy=greedy)

    def log_probs(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], model: Any = None
    ) -> list[np.ndarray]:
        """Log-probability of each completion token at the sampling temperature, one array per completion."""
        sampling = self.recipe.sampling
        given = (model or self.loaded.model, prompts, completions, sampling.temperature)
        return sequence_logps(*given, batch_tokens=sampling.batch_tokens)


def judged_answers(
    task: Task, examples: Sequence[Prompt], groups: Sequence[Sequence[Completion]]
) -> list[list[tuple[Completion, Score]]]:
    """Answers with their scores, a list per prompt; VerifierError if the verifier failed on all."""
    repeated = [example for example, group in zip(examples, groups, strict=True) for _ in group]
    scores = iter(judged(task.verifier, repeated, [answer.text for group in groups for answer in group]))
    return [[(answer, next(scores)) for answer in group] for group in groups]


def own_batches(
    examples: Iterable[Prompt], size: int, progress: StageProgress, total: int, before: int = 0
) -> Iterator[tuple[int, list[Prompt]]]:
    """Yield (number, prompts) of the batches that this process answers, reading one batch at a time.

    After each batch progress(prompts done including `before`, total) is called.
    """
    processes, left = PartialState(), iter(examples)
    for number in count():
        batch = list(islice(left, size))
        if not batch:
            return
        before += len(batch)
        if number % processes.num_processes == processes.process_index:
            yield number, batch
            progress(before, total)
