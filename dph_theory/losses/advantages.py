"""Published advantages as functions of rewards (groups, G), each re-stated from its formula.

What each is named and where it stands is in advantages.txt. G answers a prompt, k of them
correct, r the reward, m its mean over the group. Where a form divides by zero its published code leaves the
group out: its advantages are zero here.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

Advantage = Callable[[Any], Any]
"""rewards (groups, G) -> advantages (groups, G)."""


@dataclass(frozen=True)
class PublishedAdvantage:
    """One advantage as published; the fields are the columns of advantages.txt."""

    name: str
    source: str
    formula: str
    advantage: Advantage
    drops: bool
    largest_group: int
    setting: str

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


def _centred(r: Tensor) -> Tensor:
    return r - r.mean(dim=-1, keepdim=True)


def _over(top: Tensor, below: Tensor) -> Tensor:
    """The quotient, zero where the denominator is."""
    return torch.where(below > 0, top / torch.where(below > 0, below, torch.ones_like(below)), 0 * top)


def sample_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the sample std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True) + epsilon)


def population_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the population std of the group."""
    return _over(_centred(r), r.std(dim=-1, keepdim=True, correction=0) + epsilon)


def batch_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/s, s the sample std of the batch's rewards."""
    return _over(_centred(r), r.std().expand_as(r) + epsilon)


def whitened_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """GRPO's, less the batch's mean of them, over their sample std; epsilon is of the group's std."""
    return batch_normalised(sample_deviation(r, epsilon))


def mean_of_all(r: Tensor) -> Tensor:
    """r - m."""
    return _centred(r)


def leave_one_out(r: Tensor) -> Tensor:
    """r less the mean of the others."""
    size = r.shape[-1]
    return r - (r.sum(dim=-1, keepdim=True) - r) / (size - 1)


def leave_one_out_of_all(r: Tensor) -> Tensor:
    """r less the mean of the batch's others."""
    return leave_one_out(r.reshape(1, -1)).reshape(r.shape)


def over_the_others(r: Tensor) -> Tensor:
    """r less the mean of the others, over their sample std; undivided where they agree."""
    size = r.shape[-1]
    other_rewards = r[:, [[j for j in range(size) if j != i] for i in range(size)]]
    agree = (other_rewards == other_rewards[..., :1]).all(dim=-1)
    deviation = other_rewards.std(dim=-1) + 1e-6
    return (r - other_rewards.mean(dim=-1)) / torch.where(agree, torch.ones_like(deviation), deviation)


def optimal_by_length(r: Tensor, longer: float = 2.0) -> Tensor:
    """OPO: r less the mean by length, correct answers so many times as long."""
    lengths = 1 + (longer - 1) * r
    return r - (lengths * r).sum(dim=-1, keepdim=True) / lengths.sum(dim=-1, keepdim=True)


def over_the_right_ones(r: Tensor) -> Tensor:
    """GPG: (r - m) times the batch's answers over its correct ones."""
    return _centred(r) * r.numel() / torch.count_nonzero(r).clamp(min=1)


def batch_normalised(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """r less the batch's mean, over the batch's sample std."""
    return _over(r - r.mean(), r.std().expand_as(r) + epsilon)


def group_centred_batch_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """r - m over the batch's sample std of it."""
    return _over(_centred(r), _centred(r).std().expand_as(r) + epsilon)


def over_the_mean(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """(r - m)/m."""
    return _over(_centred(r), r.mean(dim=-1, keepdim=True) + epsilon)


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


def pkpo(r: Tensor, k: int = 4) -> Tensor:
    """G times PKPO's weights: k if correct, else k rho(G-1, c, k-1), rho the estimate of pass@(k-1)."""
    size = r.shape[-1]
    return _by_right(r, lambda right: (k, k * _pass_at(size - 1, right, k - 1)))


def pkpo_leave_one_out(r: Tensor, k: int = 2) -> Tensor:
    """The same less its mean over the other answers, estimated from them alone."""
    rows, size = [], r.shape[-1]
    for group, own in zip(r, pkpo(r, k), strict=True):
        other_groups = [torch.cat([group[:i], group[i + 1 :]])[None] for i in range(size)]
        rows.append(own - torch.stack([pkpo(other_group, k).mean() for other_group in other_groups]))
    return torch.stack(rows)


def best_minus_second(r: Tensor) -> Tensor:
    """The best answer's reward less the second best's, for the best one; zero for the others."""
    top = r.topk(2, dim=-1).values
    first = torch.nn.functional.one_hot(r.argmax(dim=-1), r.shape[-1]).to(r.dtype)
    return first * (top[:, :1] - top[:, 1:])


def pass_at_k_training(r: Tensor, k: int = 4) -> Tensor:
    """With R = pass@k of the group: (1-R)/s if correct, else (1 - R - C(w-1,k-1)/C(G-1,k-1))/s.

    w is the number of incorrect answers, s = sqrt(R (1-R)).
    """
    size = r.shape[-1]

    def values(right: int) -> tuple[float, float]:
        wrong = size - right
        mean = _pass_at(size, right, k)
        missed = comb(wrong - 1, k - 1) / comb(size - 1, k - 1) if wrong else 0.0
        spread = (mean * (1 - mean)) ** 0.5 or math.inf
        return (1 - mean) / spread, (1 - mean - missed) / spread

    return _by_right(r, values)


def rank_bonus(r: Tensor, bonus: float = 0.25) -> Tensor:
    """GRPO of r (1 - bonus (G - rank)/G), the likeliest answer first: its place in the group is its rank."""
    size = r.shape[-1]
    rank = torch.arange(1, size + 1, dtype=r.dtype)
    return sample_deviation(r * (1 - bonus * (size - rank) / size))


def _parsed(name: str, source: str, formula: str, function: str, options: str = "") -> PublishedAdvantage:
    words = options.split()
    largest = int(next(filter(str.isdigit, words), 1024))
    setting = next((word for word in words if word in ("k", "epsilon")), "")
    return PublishedAdvantage(name, source, formula, globals()[function], "drops" in words, largest, setting)


_LINES = Path(__file__).with_name("advantages.txt").read_text(encoding="utf-8").splitlines()
_ROWS = [line.split(" | ") for line in _LINES if line and not line.startswith("#")]
FORMS = tuple(_parsed(*row) for row in _ROWS if "across" not in row[-1])
"""Every form whose audit the docs show."""
ACROSS_GROUPS = tuple(_parsed(*row) for row in _ROWS if "across" in row[-1])
"""More forms, which an advantage is compared with: in a group alone they equal others."""
