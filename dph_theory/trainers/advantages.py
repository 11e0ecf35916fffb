"""Published advantages as functions of rewards (groups, G), each re-stated from its formula, with its source.

G answers a prompt, k of them correct, r the reward, m its mean over the group. Where a form divides by zero
its published code leaves the group out: its advantages are zero here.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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

    `largest_group` is the largest that the catalogue audits; `setting` the argument of `advantage` that code
    chooses: "k", or the "epsilon" that is added to what it divides by.
    """

    name: str
    source: str
    formula: str
    advantage: Advantage
    drops: bool = False
    largest_group: int = 1024
    setting: str = ""

    def settings(self, group_size: int) -> dict[str, Advantage]:
        """What it is with every setting in use at this group size, by name; of EPSILONS the powers of ten."""
        forms: dict[str, Advantage] = {self.name: self.advantage}
        form: Callable[..., Any] = self.advantage
        for k in range(2, group_size) if self.setting == "k" else ():
            forms[re.sub(r"(k = |pass@)\d+", rf"\g<1>{k}", self.name)] = partial(form, k=k)
        for epsilon in EPSILONS[::4] if self.setting == "epsilon" else ():
            forms[f"{self.name} + {epsilon:g}"] = partial(form, epsilon=epsilon)
        return forms


EPSILONS = tuple(float(f"{digit}e-{power}") for power in range(1, 11) for digit in (1, 2, 3, 5))
"""What is added to a deviation or a mean."""
FORMS: list["PublishedAdvantage"] = []
"""Every form whose audit the docs show, in the order of this file."""
ACROSS_GROUPS: list["PublishedAdvantage"] = []
"""More forms, which an advantage is compared with: in a group alone they equal others."""


def published(
    name: str, source: str, formula: str, forms: list["PublishedAdvantage"] = FORMS, **options: Any
) -> Callable[[_Form], _Form]:
    """Add the function that follows to the forms."""

    def add(advantage: _Form) -> _Form:
        forms.append(PublishedAdvantage(name, source, formula, advantage, **options))
        return advantage

    return add


def _centred(r: Tensor) -> Tensor:
    return r - r.mean(dim=-1, keepdim=True)


def _over(top: Tensor, below: Tensor) -> Tensor:
    """The quotient, zero where the denominator is."""
    return torch.where(below > 0, top / torch.where(below > 0, below, torch.ones_like(below)), 0 * top)


@published("GRPO, sample std", "shao2024grpo, equation 3, as TRL computes it", "(r - m)/s", setting="epsilon")
def sample_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the sample std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True) + epsilon)


@published("GRPO, population std", "shao2024grpo, equation 3", "(r - m)/s", setting="epsilon")
def population_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the population std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True, correction=0) + epsilon)


@published(
    "GRPO, batch std",
    "TRL 1.16, scale_rewards=batch",
    "(r - m)/(batch std)",
    ACROSS_GROUPS,
    setting="epsilon",
)
def batch_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the sample std of the batch's rewards."""
    return _over(_centred(r), r.std().expand_as(r) + epsilon)


@published(
    "GRPO, whitened over the batch",
    "gem, pull request 113",
    "((r - m)/s - batch mean)/(batch std)",
    ACROSS_GROUPS,
    setting="epsilon",
)
def whitened_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """GRPO's, less the batch's mean of them, over their sample std; epsilon is of the group's std."""
    return batch_normalised(sample_deviation(r, epsilon))


@published("Dr. GRPO, mean of all", "arXiv:2503.20783", "r - m")
def mean_of_all(r: Tensor) -> Tensor:
    """r - m."""
    return _centred(r)


@published("leave-one-out", "RLOO, arXiv:2402.14740", "r - (the mean of the others)")
def leave_one_out(r: Tensor) -> Tensor:
    """r less the mean of the others."""
    size = r.shape[-1]
    return r - (r.sum(dim=-1, keepdim=True) - r) / (size - 1)


@published(
    "leave-one-out over the batch",
    "AReaL, pull request 1705",
    "r - (the mean of the batch's others)",
    ACROSS_GROUPS,
)
def leave_one_out_of_all(r: Tensor) -> Tensor:
    """r less the mean of the batch's others."""
    return leave_one_out(r.reshape(1, -1)).reshape(r.shape)


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


@published("REINFORCE++", "arXiv:2501.03262", "(r - batch mean)/batch std", setting="epsilon")
def batch_normalised(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """r less the batch's mean, over the batch's sample std."""
    return _over(r - r.mean(), r.std().expand_as(r) + epsilon)


@published("REINFORCE++ with baseline", "arXiv:2501.03262", "(r - m)/(batch std of r - m)", setting="epsilon")
def group_centred_batch_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """r - m over the batch's sample std of it."""
    return _over(_centred(r), _centred(r).std().expand_as(r) + epsilon)


@published("MaxRL", "arXiv:2602.02710", "(r - m)/m, all-wrong groups zero", setting="epsilon")
def over_the_mean(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/m."""
    return _over(_centred(r), r.mean(dim=-1, keepdim=True) + epsilon)


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


@published("PKPO, k = 4", "arXiv:2505.15201", "k if right, k rho(G-1, c, k-1) if wrong", setting="k")
def pkpo(r: Tensor, k: int = 4) -> Tensor:
    """G times PKPO's weights: k if correct, else k rho(G-1, c, k-1), rho the estimate of pass@(k-1)."""
    size = r.shape[-1]
    return _by_right(r, lambda right: (k, k * _pass_at(size - 1, right, k - 1)))


@published(
    "PKPO, k = 2, less the others",
    "arXiv:2505.15201",
    "the same less its mean without the answer",
    setting="k",
)
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


@published("pass@4 training", "arXiv:2508.10751", "((1 - R), (1 - R - C(w-1,k-1)/C(G-1,k-1)))/s", setting="k")
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
