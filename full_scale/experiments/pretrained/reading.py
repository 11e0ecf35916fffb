"""Exact probabilities of a pretrained model's answers to open prompts, from one forward pass.

Shared prefixes of token sequences are computed once. `Reading.enumerable` makes an EnumerableTask of the
model's own next-token tables, in which all tokens but the words are joined to the end symbol. This is exact
for stationary policies, which treat incorrect answers alike.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from ..enumerable_tasks.tasks import EnumerableTask
from .open_prompts import OpenPrompts

LogProbs = list[Tensor]
"""Entry t: (texts, words, ..., words, vocabulary), t axes of words, for token t given the earlier ones."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Sequences as one trie: one node per token, which attends to itself and to the nodes before it.

    Gradients equal those of separate sequences; the cost of the pass, forward and backward, is proportional
    to the number of nodes.
    """

    ids: Int[Tensor, "1 nodes"]
    positions: Int[Tensor, "1 nodes"]
    visible: Bool[Tensor, "1 1 nodes nodes"]
    ends: Int[Tensor, " sequences"]  # Node of each sequence's last token.


def pack(sequences: Sequence[Sequence[int]]) -> Packed:
    """Build the prefix tree of non-empty token sequences, to be read by one forward pass."""
    nodes: dict[tuple[int, int], int] = {}
    parents, positions, ends = [], [], []
    for tokens in sequences:
        at = -1
        for position, token in enumerate(tokens):
            if (at, token) not in nodes:
                nodes[at, token] = len(nodes)
                parents.append(at)
                positions.append(position)
            at = nodes[at, token]
        ends.append(at)
    visible = torch.eye(len(nodes), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            visible[node] |= visible[parent]
    ids = torch.tensor([[token for _, token in nodes]])
    return Packed(ids, torch.tensor([positions]), visible[None, None], torch.tensor(ends))


def next_log_probs(model: Any, packed: Packed) -> Float[Tensor, "sequences vocabulary"]:
    """Log-probabilities of the token after each sequence, float32; logits are computed only there."""
    hidden = model.model.embed_tokens.weight
    barred = torch.zeros(packed.visible.shape, dtype=hidden.dtype, device=hidden.device)
    barred = barred.masked_fill(~packed.visible.to(hidden.device), torch.finfo(hidden.dtype).min)
    states = model.model(
        input_ids=packed.ids.to(hidden.device),
        position_ids=packed.positions.to(hidden.device),
        attention_mask=barred,
        use_cache=False,
    ).last_hidden_state[0, packed.ends.to(hidden.device)]
    return model.lm_head(states).float().log_softmax(dim=-1)


class Reading:
    """One forward pass for the probabilities of several tasks; words of two tokens are dropped.

    Raises ValueError for a task without a word of one token.
    """

    def __init__(self, tokenizer: Any, tasks: Sequence[OpenPrompts]) -> None:
        def ids(text: str) -> list[int]:
            tokens: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
            return tokens

        self.tasks = {task.name: task for task in tasks}
        self.words = {
            task.name: {word: ids(word)[0] for word in task.words if len(ids(word)) == 1} for task in tasks
        }
        for name, words in self.words.items():
            if not words:
                raise argument_error(f"task {name!r} words", self.tasks[name].words, "some of one token")
        # The tokeniser's start symbol depends on the model: SmolLM2 has none.
        first: list[int] = tokenizer("")["input_ids"]
        sequences: list[list[int]] = []
        self._shapes: dict[tuple[str, int], tuple[int, ...]] = {}
        for task in tasks:
            tokens = tuple(self.words[task.name].values())
            for t in range(task.length):
                prefixes = [*itertools.product(tokens, repeat=t)]
                sequences += [[*first, *ids(text), *prefix] for text in task.texts for prefix in prefixes]
                self._shapes[task.name, t] = (len(task.texts), *[len(tokens)] * t)
        self.packed = pack(sequences)

    def log_probs(self, model: Any) -> dict[str, LogProbs]:
        """Next-token log-probabilities of each task by name, over the whole vocabulary, on the CPU."""
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        parts = next_log_probs(model, self.packed).cpu().split(sizes)
        tables = {
            key: part.unflatten(0, shape)
            for (key, shape), part in zip(self._shapes.items(), parts, strict=True)
        }
        return {name: [tables[name, t] for t in range(task.length)] for name, task in self.tasks.items()}

    def word_ids(self, name: str) -> Int[Tensor, " words"]:
        """Token ids of a task's answer words."""
        return torch.tensor([*self.words[name].values()])

    def valid(self, name: str) -> Bool[Tensor, "texts ..."]:
        """Mask of the correct answers, (texts, words, ..., words)."""
        task, words = self.tasks[name], self.words[name]
        answers = ["".join(answer) for answer in itertools.product(words, repeat=task.length)]
        rows = [[answer in right for answer in answers] for right in task.right]
        return torch.tensor(rows).unflatten(1, (len(words),) * task.length)

    def enumerable(self, name: str, log_probs: LogProbs) -> EnumerableTask:
        """Task with these log-probabilities as its base; every token but the words becomes the end symbol."""
        tables = [_with_others(table.detach(), self.word_ids(name)) for table in log_probs]
        words, valid = self.words[name], self.valid(name).numpy()
        valid = np.pad(valid, [(0, 0), *[(0, 1)] * (valid.ndim - 1)])
        return EnumerableTask(name, tuple(words), tuple(tables), valid, tuple(range(len(valid))))


def _with_others(table: Tensor, words: Tensor) -> np.ndarray:
    """Probabilities of the words, and of all other tokens as one last symbol, after which rows repeat."""
    chances = table.double().softmax(dim=-1)
    named = chances[..., words]
    other = chances.sum(dim=-1, keepdim=True) - named.sum(dim=-1, keepdim=True)
    lumped = torch.cat([named, other.clamp_min(1e-12)], dim=-1).numpy()
    for axis in range(1, lumped.ndim - 1):
        lumped = np.concatenate([lumped, lumped.take([-1], axis=axis)], axis=axis)
    return np.asarray(lumped / lumped.sum(axis=-1, keepdims=True))
