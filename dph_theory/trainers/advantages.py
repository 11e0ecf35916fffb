"""Published advantages as functions of rewards (groups, G), each re-stated from its formula, with its source.

G answers a prompt, k of them correct, r the reward, m its mean over the group. Where a form divides by zero
its published code leaves the group out: its advantages are zero here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, TypeVar

import torch
from torch import Tensor

Advantage = Callable[[Any], Any]
"""rewards (groups, G) -> advantages (groups, G)."""
_Form = TypeVar("_Form", bound=Callable[..., Any])


@dataclass(frozen=True)
class PublishedAdvantage:
    """One advantage as published; `drops` says that groups of equal rewards are replaced by others.

    `largest_group` is the largest that the catalogue audits.
    """

    name: str
    source: str
    formula: str
    advantage: Advantage
    drops: bool = False
    largest_group: int = 1024


FORMS: list["PublishedAdvantage"] = []
"""Every form whose audit the docs show, in the order of this file."""


def published(name: str, source: str, formula: str, **options: Any) -> Callable[[_Form], _Form]:
    """Add the function that follows to FORMS."""

    def add(advantage: _Form) -> _Form:
        FORMS.append(PublishedAdvantage(name, source, formula, advantage, **options))
        return advantage

    return add


def _centred(r: Tensor) -> Tensor:
    return r - r.mean(dim=-1, keepdim=True)


def _over(top: Tensor, below: Tensor) -> Tensor:
    """The quotient, zero where the denominator is."""
    return torch.where(below > 0, top / torch.where(below > 0, below, torch.ones_like(below)), 0 * top)


@published("GRPO, sample std", "shao2024grpo, equation 3, as TRL computes it", "(r - m)/s")
def sample_deviation(r: Tensor) -> Tensor:
    """(r - m)/s, s the sample std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True))


@published("GRPO, population std", "shao2024grpo, equation 3", "(r - m)/s")
def population_deviation(r: Tensor) -> Tensor:
    """(r - m)/s, s the population std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True, correction=0))


@published("Dr. GRPO, mean of all", "arXiv:2503.20783", "r - m")
def mean_of_all(r: Tensor) -> Tensor:
    """r - m."""
    return _centred(r)


@published("leave-one-out", "arXiv:2402.14740", "r - (the mean of the others)")
def leave_one_out(r: Tensor) -> Tensor:
    """r less the mean of the others."""
    size = r.shape[-1]
    return r - (r.sum(dim=-1, keepdim=True) - r) / (size - 1)


@published(
    "leave-one-out, divided by the others' std",
    "NeMo-RL 7ea279abf, nemo_rl/algorithms/advantage_estimator.py (default)",
    "(r - (the mean of the others))/(their std), undivided where they agree",
    largest_group=16,
)
def over_the_others(r: Tensor) -> Tensor:
    """r less the mean of the others, over their sample std; undivided where they agree."""
    size = r.shape[-1]
    other_rewards = r[:, [[j for j in range(size) if j != i] for i in range(size)]]
    agree = (other_rewards == other_rewards[..., :1]).all(dim=-1)
    deviation = other_rewards.std(dim=-1) + 1e-6
    return (r - other_rewards.mean(dim=-1)) / torch.where(agree, torch.ones_like(deviation), deviation)


@published(
    "OPO, correct answers twice as long",
    "arXiv:2505.23585, verl 1dda039b9, adv_estimator=opo",
    "r - sum(length r)/sum(length)",
)
def optimal_by_length(r: Tensor, longer: float = 2.0) -> Tensor:
    """OPO: r less the mean by length, correct answers so many times as long."""
    lengths = 1 + (longer - 1) * r
    return r - (lengths * r).sum(dim=-1, keepdim=True) / lengths.sum(dim=-1, keepdim=True)


@published("GPG", "verl 1dda039b9, adv_estimator=gpg", "(r - m) answers/(correct answers of the batch)")
def over_the_right_ones(r: Tensor) -> Tensor:
    """GPG: (r - m) times the batch's answers over its correct ones."""
    return _centred(r) * r.numel() / torch.count_nonzero(r).clamp(min=1)


@published("REINFORCE++", "arXiv:2501.03262", "(r - batch mean)/batch std")
def batch_normalised(r: Tensor) -> Tensor:
    """r less the batch's mean, over the batch's sample std."""
    return _over(r - r.mean(), r.std().expand_as(r))


@published("REINFORCE++ with baseline", "arXiv:2501.03262", "(r - m)/(batch std of r - m)")
def group_centred_batch_deviation(r: Tensor) -> Tensor:
    """r - m over the batch's sample std of it."""
    return _over(_centred(r), _centred(r).std().expand_as(r))


@published("MaxRL", "arXiv:2602.02710", "(r - m)/m, all-wrong groups zero")
def over_the_mean(r: Tensor) -> Tensor:
    """(r - m)/m."""
    return _over(_centred(r), r.mean(dim=-1, keepdim=True))


@published("MaxRL, unbiased", "arXiv:2602.02710", "r/m - 1, all-wrong groups -1")
def over_the_mean_unbiased(r: Tensor) -> Tensor:
    """r/m - 1, and -1 in a group without a correct answer: the baseline does not depend on the answer."""
    return _over(r, r.mean(dim=-1, keepdim=True)) - 1


def _by_right(r: Tensor, values: Callable[[int], tuple[float, float]]) -> Tensor:
    """What correct and incorrect answers get by how many are correct, in the rewards' own precision."""
    advantages = torch.tensor([values(int(right)) for right in r.sum(dim=-1)], dtype=r.dtype)
    return advantages[:, 1:] + (advantages[:, :1] - advantages[:, 1:]) * r


def _pass_at(size: int, right: int, k: int) -> float:
    """The unbiased estimate of pass@k from `right` correct of `size`."""
    return 1 - comb(max(size - right, 0), k) / comb(size, k)


@published("PKPO, k = 4", "arXiv:2505.15201", "k if right, k rho(G-1, c, k-1) if wrong")
def pkpo(r: Tensor, k: int = 4) -> Tensor:
    """G times PKPO's weights: k if correct, else k rho(G-1, c, k-1), rho the estimate of pass@(k-1)."""
    size = r.shape[-1]
    return _by_right(r, lambda right: (k, k * _pass_at(size - 1, right, k - 1)))


@published("PKPO, k = 2, less the others", "arXiv:2505.15201", "the same less its mean without the answer")
def pkpo_leave_one_out(r: Tensor, k: int = 2) -> Tensor:
    """The same less its mean over the other answers, estimated from them alone."""
    rows, size = [], r.shape[-1]
    for group, own in zip(r, pkpo(r, k), strict=True):
        other_groups = [torch.cat([group[:i], group[i + 1 :]])[None] for i in range(size)]
        rows.append(own - torch.stack([pkpo(other_group, k).mean() for other_group in other_groups]))
    return torch.stack(rows)


@published("best minus second", "arXiv:2503.19595", "max r - second, for the best")
def best_minus_second(r: Tensor) -> Tensor:
    """The best answer's reward less the second best's, for the best one; zero for the others."""
    top = r.topk(2, dim=-1).values
    first = torch.nn.functional.one_hot(r.argmax(dim=-1), r.shape[-1]).to(r.dtype)
    return first * (top[:, :1] - top[:, 1:])


@published("pass@4 training", "arXiv:2508.10751", "((1 - R), (1 - R - C(w-1,k-1)/C(G-1,k-1)))/s")
def pass_at_k_training(r: Tensor, k: int = 4) -> Tensor:
    """With R = pass@k of the group: (1-R)/s if correct, else (1 - R - C(w-1,k-1)/C(G-1,k-1))/s.

    w is the number of incorrect answers, s = sqrt(R (1-R)).
    """
    size = r.shape[-1]

    def values(right: int) -> tuple[float, float]:
        wrong = size - right
        mean = 1 - comb(wrong, k) / comb(size, k)
        missed = comb(wrong - 1, k - 1) / comb(size - 1, k - 1) if wrong else 0.0
        spread = (mean * (1 - mean)) ** 0.5 or math.inf
        return (1 - mean) / spread, (1 - mean - missed) / spread

    return _by_right(r, values)


@published("rank bonus", "arXiv:2506.02355", "(x - mean)/s, x = r (1 - (G - rank)/(4 G))", largest_group=8)
def rank_bonus(r: Tensor, bonus: float = 0.25) -> Tensor:
    """GRPO of r (1 - bonus (G - rank)/G), the likeliest answer first: its place in the group is its rank."""
    size = r.shape[-1]
    rank = torch.arange(1, size + 1, dtype=r.dtype)
    return sample_deviation(r * (1 - bonus * (size - rank) / size))


published("DAPO, equal groups replaced", "arXiv:2503.14476", "(r - m)/s, equal groups replaced", drops=True)(
    sample_deviation
)
