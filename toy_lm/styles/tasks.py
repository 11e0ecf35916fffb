"""The task: add two numbers and answer in one of five styles, of which most prompts accept only one.

A prompt is (a, b), a response (style, tens, ones). The verifier accepts a response whose digits are those of
a + b and whose style the prompt accepts: every style on easy prompts, on the others only the one that a
seeded hash of the prompt assigns. No model can infer the style, so only a model that retains all styles
solves all prompts.
"""

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

STYLES, DIGITS = 5, 10  # Outcome 100 style + 10 tens + ones, also incorrect ones.
OPERANDS = 16
EASY, HELD_OUT = 0.4, 0.25  # Shares of easy prompts and of held-out prompts.


@dataclass(frozen=True)
class StylesTask:
    """Prompts, the styles and sums that each accepts, and the training split."""

    prompts: Int[Tensor, "prompts 2"]
    accepted: Bool[Tensor, "prompts styles"]
    valid: Bool[Tensor, "prompts outcomes"]
    train: Int[Tensor, " train"]
    held_out: Int[Tensor, " held_out"]


def make_task(seed: int) -> StylesTask:
    """Task of a seed over all OPERANDS^2 prompts."""
    prompts = [(a, b) for a in range(OPERANDS) for b in range(OPERANDS)]
    tested = round(HELD_OUT * len(prompts))
    rank = {purpose: _ranks(seed, purpose, prompts) for purpose in ("easy", "split")}
    assigned = torch.tensor([_hash(seed, "style", prompt) % STYLES for prompt in prompts])
    easy = rank["easy"] < round(EASY * len(prompts))
    accepted = easy[:, None] | (assigned[:, None] == torch.arange(STYLES))
    sums = torch.tensor(prompts).sum(dim=1)
    right = sums[:, None] == torch.arange(DIGITS * DIGITS)
    return StylesTask(
        prompts=torch.tensor(prompts),
        accepted=accepted,
        valid=(accepted[:, :, None] & right[:, None, :]).flatten(1),
        train=(rank["split"] >= tested).nonzero()[:, 0],
        held_out=(rank["split"] < tested).nonzero()[:, 0],
    )


def tokens_of(outcomes: Int[Tensor, "*batch"]) -> Int[Tensor, "*batch 3"]:
    """Response (style, tens, ones) of each outcome index."""
    digits = DIGITS * DIGITS
    return torch.stack([outcomes // digits, outcomes // DIGITS % DIGITS, outcomes % DIGITS], dim=-1)


def _hash(seed: int, purpose: str, prompt: tuple[int, int]) -> int:
    digest = hashlib.sha256(f"{seed} {purpose} {prompt}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def _ranks(seed: int, purpose: str, prompts: list[tuple[int, int]]) -> Int[Tensor, " prompts"]:
    """Rank of each prompt in a random order by hash, equal on all machines."""
    order = sorted(range(len(prompts)), key=lambda i: _hash(seed, purpose, prompts[i]))
    return torch.tensor(order).argsort()
