"""Samples with their rewards and log-probabilities, for exploration and for rehearsal."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dph_theory.support.errors import argument_error

from .tasks import StylesTask, tokens_of
from .transformer import ResponseDistribution


class Samples(NamedTuple):
    """Responses, one per row: prompt, log-probabilities when drawn and under the base, reward."""

    prompts: Int[Tensor, " rows"]
    responses: Int[Tensor, "rows 3"]
    log_old: Float[Tensor, "rows 3"]
    log_ref: Float[Tensor, "rows 3"]
    valid: Bool[Tensor, " rows"]

    def at(self, rows: Tensor) -> "Samples":
        """Select the rows of an index or a mask."""
        return Samples(*(column[rows] for column in self))

    def in_groups(
        self, size: int
    ) -> tuple[Float[Tensor, "groups size"], Float[Tensor, "groups size"], Bool[Tensor, "groups size"]]:
        """Log pi and log base of whole responses, and the rewards, for rows in groups of one prompt."""
        old, ref = (column.sum(dim=1).unflatten(0, (-1, size)) for column in (self.log_old, self.log_ref))
        return old, ref, self.valid.unflatten(0, (-1, size))


AnchorSampler: TypeAlias = Callable[[ResponseDistribution], Samples | None]
"""Maps the policy's probabilities to the samples that anchor an update; None for the explored samples."""


def draw(
    policy: ResponseDistribution,
    reference: ResponseDistribution,
    task: StylesTask,
    prompts: Int[Tensor, " rows"],
    generator: torch.Generator,
) -> Samples:
    """Draw one sample of the policy for each prompt index, which may be repeated."""
    # Inverting the distribution function is ten times as fast here as categorical sampling.
    reached = policy.joint().exp().cumsum(dim=1)[prompts]
    level = torch.rand(len(prompts), 1, dtype=reached.dtype, generator=generator) * reached[:, -1:]
    outcomes = torch.searchsorted(reached, level, right=True)[:, 0]
    responses = tokens_of(outcomes)
    return Samples(
        prompts,
        responses,
        policy.tokens(prompts, responses),
        reference.tokens(prompts, responses),
        task.valid[prompts, outcomes],
    )


def presample(
    reference: ResponseDistribution, task: StylesTask, *, presamples: int, stored: int, seed: int
) -> tuple[Int[Tensor, " rehearsed"], Samples]:
    """Return D_pef, the prompts whose pre-samples are all correct, and the base's correct samples on D_pef.

    These samples are drawn afresh, because the pre-samples that selected the prompts are correct by
    selection. Raises ValueError if no prompt passes. Source: li2025choice.
    """
    generator = stream(seed, "presample")
    tried = draw(reference, reference, task, task.train.repeat_interleave(presamples), generator)
    chosen = task.train[tried.valid.unflatten(0, (-1, presamples)).all(dim=1)]
    fresh = draw(reference, reference, task, chosen.repeat_interleave(stored), generator)
    if not fresh.valid.any():
        allowed = "fewer: no prompt was solved by all of them and once more"
        raise argument_error("presamples", presamples, allowed)
    return chosen, fresh.at(fresh.valid)


def stream(seed: int, purpose: str) -> torch.Generator:
    """Random generator of one purpose, so that more draws for one purpose do not change the others."""
    words = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(2, np.uint64)
    return torch.Generator().manual_seed(int(words[0] >> 1))
