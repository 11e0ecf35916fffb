"""Problems small enough to enumerate: every outcome, or every token sequence, with exact laws.

A problem is a tabular autoregressive policy, one row of logits per prefix, with a reference, an old policy
and a verifier of whole sequences. One-token problems are plain distributions over outcomes. Where token 0
ends a sequence, lengths differ.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor

SHAPES = ((3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (2, 4))
"""(vocabulary, length) of the audited problems: three of outcomes, four of sequences."""
ENDING = ((3, 2), (2, 3))
"""(vocabulary, greatest length) of those in which token 0 ends a sequence."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One enumerable problem; tensors are float64. `prefix` and `token` index each sequence's steps.

    `mask` (sequences, length) is one at the tokens of a sequence and zero behind its end.
    """

    vocabulary: int
    length: int
    prefix: Tensor
    token: Tensor
    mask: Tensor
    policy: Tensor
    reference: Tensor
    old: Tensor
    valid: Tensor

    @property
    def name(self) -> str:
        """Such as "sequences of 2 tokens out of 3"."""
        if self.length == 1:
            return f"{self.vocabulary} outcomes"
        most = "up to " * bool((self.mask == 0).any())
        return f"sequences of {most}{self.length} tokens out of {self.vocabulary}"

    def sequence(self, index: int) -> str:
        """A sequence's tokens, such as "(0, 2)"."""
        tokens = self.token[index][self.mask[index] > 0].tolist()
        return f"({', '.join(map(str, tokens))})"

    @property
    def lengths(self) -> Tensor:
        """The number of tokens of each sequence, (sequences,)."""
        return self.mask.sum(dim=-1)

    def log_probs(self, logits: Tensor) -> Tensor:
        """Per-token log-probabilities of every sequence, (sequences, length); zero behind the end."""
        return torch.log_softmax(logits, dim=-1)[self.prefix, self.token] * self.mask

    def law(self, logits: Tensor) -> Tensor:
        """The probabilities of all sequences, (sequences,), detached."""
        return self.log_probs(logits).sum(dim=-1).exp().detach()

    def samples(self, source: str) -> Tensor:
        """The law that the samples come from, (sequences,): see `report.SAMPLES`."""
        if source == "filtered":
            kept = self.law(self.reference) * self.valid
            return kept / kept.sum()
        return self.law({"policy": self.policy, "old_policy": self.old, "reference": self.reference}[source])

    def prefix_law(self, law: Tensor) -> Tensor:
        """How often a law over sequences visits each prefix, (prefixes,)."""
        visits = torch.zeros(len(self.policy), dtype=law.dtype)
        return visits.index_add(0, self.prefix.flatten(), (law[:, None] * self.mask).flatten())

    def distribution(self, logits: Tensor) -> np.ndarray:
        """The law of the sequences as a numpy distribution."""
        return self.law(logits).numpy()


def _layout(vocabulary: int, length: int, ends: bool) -> tuple[Tensor, Tensor, Tensor, int]:
    """(prefix row, token, mask) of every step of every sequence, and the number of prefixes."""
    rows: dict[tuple[int, ...], int] = {}
    for size in range(length):
        for head in product(range(vocabulary), repeat=size):
            if not (ends and 0 in head):
                rows[head] = len(rows)
    # Behind the end stand zeros, so that each sequence is met once.
    sequences = [
        y
        for y in product(range(vocabulary), repeat=length)
        if not ends or all(b == 0 for a, b in pairwise(y) if a == 0)
    ]
    counted = [[not (ends and 0 in y[:t]) for t in range(length)] for y in sequences]
    prefix = torch.tensor([[rows.get(y[:t], 0) for t in range(length)] for y in sequences])
    return prefix, torch.tensor(sequences), torch.tensor(counted, dtype=torch.float64), len(rows)


def random_problem(
    vocabulary: int, length: int, generator: torch.Generator, *, ends: bool = False
) -> Problem:
    """A problem with random logits and a verifier that accepts about half of the sequences."""
    prefix, token, mask, rows = _layout(vocabulary, length, ends)

    def logits() -> Tensor:
        return torch.randn(rows, vocabulary, dtype=torch.float64, generator=generator)

    count = len(token)
    order = torch.randperm(count, generator=generator)
    valid = torch.zeros(count, dtype=torch.float64)
    # At least two valid sequences, so that there is a law within Y1 to preserve, and one invalid.
    valid[order[: max(2, count // 2)]] = 1.0
    policy, reference = logits(), logits()
    return Problem(vocabulary, length, prefix, token, mask, policy, reference, policy + 0.5 * logits(), valid)


@cache
def random_problems(seed: int) -> tuple[Problem, ...]:
    """One random problem of each shape."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator) for shape in SHAPES)


@cache
def ending_problems(seed: int) -> tuple[Problem, ...]:
    """One random problem of each shape in which sequences end at token 0."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator, ends=True) for shape in ENDING)
