"""Problems small enough to enumerate, on which a loss is audited exactly."""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import compress, product

import torch
from torch import Tensor

SHAPES = ((3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (2, 4))
"""(vocabulary, length) of the audited problems: three of outcomes, four of sequences."""
ENDING = ((3, 2), (2, 3))
"""(vocabulary, greatest length) of problems in which token 0 ends a sequence."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One enumerable problem; tensors are float64.

    `prefix` and `token` index each sequence's steps; `mask` (sequences, length) is one at its tokens;
    `policy`, `reference`, `old` are logits (prefixes, vocabulary); `valid` (sequences,) is one if correct.
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
        """Words such as "sequences of 2 tokens out of 3"."""
        if self.length == 1:
            return f"{self.vocabulary} outcomes"
        most = "up to " if (self.mask == 0).any() else ""
        return f"sequences of {most}{self.length} tokens out of {self.vocabulary}"

    @property
    def lengths(self) -> Tensor:
        """Number of tokens of each sequence, (sequences,)."""
        return self.mask.sum(dim=-1)

    @property
    def padding(self) -> int:
        """Number of masked tokens after the longest sequence, for a loss that takes a mask."""
        return 1 + self.vocabulary % 3

    def log_probs(self, logits: Tensor) -> Tensor:
        """Per-token log-probabilities of every sequence, (sequences, length); zero behind the end."""
        return torch.log_softmax(logits, dim=-1)[self.prefix, self.token] * self.mask

    def probabilities(self, logits: Tensor) -> Tensor:
        """Probabilities of all sequences, (sequences,), detached."""
        return self.log_probs(logits).sum(dim=-1).exp().detach()

    def sample_distribution(self, source: str) -> Tensor:
        """Distribution of the samples over sequences, (sequences,); see `report.SAMPLES`."""
        if source == "filtered":
            correct = self.probabilities(self.reference) * self.valid
            return correct / correct.sum()
        logits = {"policy": self.policy, "old_policy": self.old, "reference": self.reference}
        return self.probabilities(logits[source])

    @cached_property
    def jacobian(self) -> Tensor:
        """Derivatives of the tokens' log-probabilities in the logits, (sequences, length, parameters)."""
        return torch.autograd.functional.jacobian(self.log_probs, self.policy).flatten(2)

    def prefix_visits(self, source: str) -> Tensor:
        """Expected number of visits of each prefix by a sample from `source`, (prefixes,)."""
        visits = self.sample_distribution(source)[:, None] * self.mask
        unvisited = torch.zeros(len(self.policy), dtype=torch.float64)
        return unvisited.index_add(0, self.prefix.flatten(), visits.flatten())


def random_problem(
    vocabulary: int, length: int, generator: torch.Generator, *, ends: bool = False
) -> Problem:
    """Draw a problem with random logits whose verifier accepts about half of the sequences.

    If it `ends`, token 0 ends a sequence and zeros follow, so that each sequence appears once.
    """
    sequences = [
        y for y in product(range(vocabulary), repeat=length) if not (ends and 0 in y and any(y[y.index(0) :]))
    ]
    counted = [[not (ends and 0 in y[:t]) for t in range(length)] for y in sequences]
    heads = [[y[:t] for t in range(length)] for y in sequences]
    visited = {head for row, counts in zip(heads, counted, strict=True) for head in compress(row, counts)}
    prefixes = sorted(visited, key=lambda prefix: (len(prefix), prefix))
    place = {prefix: i for i, prefix in enumerate(prefixes)}

    def logits() -> Tensor:
        return torch.randn(len(prefixes), vocabulary, dtype=torch.float64, generator=generator)

    order = torch.randperm(len(sequences), generator=generator)
    valid = torch.zeros(len(sequences), dtype=torch.float64)
    # At least two valid sequences, so that there is a distribution within Y1 to preserve, and one invalid.
    valid[order[: max(2, len(sequences) // 2)]] = 1.0
    policy, reference = logits(), logits()
    return Problem(
        vocabulary,
        length,
        prefix=torch.tensor([[place.get(head, 0) for head in row] for row in heads]),
        token=torch.tensor(sequences),
        mask=torch.tensor(counted, dtype=torch.float64),
        policy=policy,
        reference=reference,
        old=policy + 0.5 * logits(),
        valid=valid,
    )


@cache
def random_problems(seed: int, *, ends: bool = False) -> tuple[Problem, ...]:
    """Draw one problem of each shape in SHAPES (or ENDING, where token 0 ends sequences) from the seed."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(random_problem(*shape, generator, ends=ends) for shape in (ENDING if ends else SHAPES))


@cache
def near_the_reference(problem: Problem, reach: float) -> Problem:
    """Move the policies nearer to the reference, until no token's |log(pi/ref)| is above `reach`."""
    log_ratios = torch.log_softmax(problem.policy, -1) - torch.log_softmax(problem.reference, -1)
    # The log ratio of a mixture of logits is at most 2 max |difference| times the share.
    share = min(1.0, reach / (2 * float(log_ratios.abs().max())))

    def moved(logits: Tensor) -> Tensor:
        return problem.reference + share * (logits - problem.reference)

    return replace(problem, policy=moved(problem.policy), old=moved(problem.old))
