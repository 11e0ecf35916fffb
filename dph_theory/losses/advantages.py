"""Advantages of rewards (groups, size): those that this package trains with, and the published ones.

`group_advantages` and most published forms share one function, `normalised`; advantages.txt names each form
and its source. G answers a prompt, k of them correct, r the reward, m its mean over the group. Where a form
divides by zero its published code leaves the group out: its advantages are zero here.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..support.errors import argument_error, choice
from .inputs import floats
from .reductions import working_dtype

Advantage = Callable[[Any], Any]
"""rewards (groups, G) -> advantages (groups, G)."""
ADVANTAGE_BASELINES = ("mean", "leave_one_out", "one", "none")
DIVISORS = ("std", "mean", "none")
"""What an advantage is divided by: the group's std (GRPO), its mean (MaxRL), or nothing (Dr. GRPO, RLOO)."""
EPSILONS = tuple(float(f"{digit}e-{power}") for power in range(1, 11) for digit in (1, 2, 3, 5))
"""What is added to a deviation or a mean."""


def _deviation(centred: Tensor, axes: tuple[int, ...], correction: int) -> Tensor:
    """The std over these axes, in units of the largest value, so that no square underflows."""
    largest = centred.abs().amax(dim=axes, keepdim=True)
    unit = torch.where(largest > 0, largest, 1.0)
    return unit * (centred / unit).std(dim=axes, correction=correction, keepdim=True)


_SPREADS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "std": lambda r, centred: _deviation(centred, (-1,), 0),
    "sample_std": lambda r, centred: _deviation(centred, (-1,), 1),
    "mean": lambda r, centred: r.mean(dim=-1, keepdim=True),
    "batch_std": lambda r, centred: _deviation(r - r.mean(), (0, 1), 1),
    "batch_std_of_centred": lambda r, centred: _deviation(centred, (0, 1), 1),
    "none": lambda r, centred: torch.ones_like(r),
}
"""What divides an advantage, from the rewards and what is left of them without the baseline."""


def _over(top: Tensor, below: Tensor) -> Tensor:
    """The quotient, zero where the denominator is."""
    return torch.where(below > 0, top / torch.where(below > 0, below, 1.0), 0 * top)


def normalised(
    r: Tensor, *, divided_by: str = "none", baseline: str = "mean", epsilon: float = 0.0
) -> Tensor:
    """(r - baseline)/(spread + epsilon), zero where the spread is.

    The baseline is the group's "mean", the "batch" mean, or "leave_one_out", the mean of the others.
    """
    size = r.shape[-1]
    centred = r - (r.mean() if baseline == "batch" else r.mean(dim=-1, keepdim=True))
    advantages = _over(centred, _SPREADS[divided_by](r, centred) + epsilon)
    return advantages * size / (size - 1) if baseline == "leave_one_out" else advantages


def group_advantages(rewards: Tensor, *, divided_by: str = "std", baseline: str = "mean") -> Tensor:
    """The reward minus a baseline over the group's spread or mean, shape (groups, size).

    baseline "mean" of the group; "leave_one_out", the mean of the others, which is size/(size-1) times as far
    away; "one", where only incorrect answers have an advantage; "none", only correct ones. All have one
    expected gradient, up to that factor; they differ in how far sampling noise drives correct answers apart,
    least with "one". divided_by "std" is the group's population std, with no constant added; "mean" the
    group's mean, of rewards that are not negative; both go with the two means. With these a group of equal
    rewards gets 0. float64 for float64 rewards, float32 otherwise. Raises ValueError for integers, another
    shape, groups of one, rewards not finite, negative ones under "mean", another baseline or divisor.
    Source: shao2024grpo; "mean", tajwar2026maxrl; entries `sampling_noise`, `retention`.

    >>> group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), divided_by="mean")
    tensor([[ 3., -1., -1., -1.]])
    """
    choice("baseline", baseline, ADVANTAGE_BASELINES)
    choice("divided_by", divided_by, DIVISORS)
    check_groups(rewards)
    r = rewards.to(working_dtype(rewards))
    if baseline in ("one", "none"):
        if divided_by != "none":
            raise argument_error("divided_by", divided_by, f"none with baseline={baseline!r}")
        return r - (1.0 if baseline == "one" else 0.0)
    if divided_by == "mean" and (r < 0).any():
        raise argument_error("rewards", float(r.min()), "at least 0, to be divided by their mean")
    # By the rewards themselves: rounding leaves a mean of equal numbers a last bit off.
    informative = informative_groups(rewards)[:, None]
    return torch.where(informative, normalised(r, divided_by=divided_by, baseline=baseline), 0.0)


def informative_groups(rewards: Tensor) -> Tensor:
    """DAPO's dynamic-sampling filter, whether rewards differ: (groups, size) to booleans (groups,).

    Groups of equal rewards have zero advantage and only dilute the mean.
    Raises ValueError as `group_advantages`. Source: yu2025dapo.
    """
    check_groups(rewards)
    return rewards.amax(dim=1) > rewards.amin(dim=1)


def check_groups(rewards: Tensor) -> None:
    """Raises ValueError for rewards that are no finite numbers of groups of two or more."""
    floats("rewards", rewards, ("groups", "size"))
    if rewards.shape[1] < 2:
        raise argument_error("rewards.shape", tuple(rewards.shape), "groups of at least two")
    finite = rewards.isfinite()
    if not finite.all():
        raise argument_error("rewards", float(rewards[~finite][0]), "finite numbers")


sample_deviation = partial(normalised, divided_by="sample_std")
population_deviation = partial(normalised, divided_by="std")
batch_deviation = partial(normalised, divided_by="batch_std")
mean_of_all = partial(normalised)
leave_one_out = partial(normalised, baseline="leave_one_out")
batch_normalised = partial(normalised, divided_by="batch_std", baseline="batch")
group_centred_batch_deviation = partial(normalised, divided_by="batch_std_of_centred")
over_the_mean = partial(normalised, divided_by="mean")


def whitened_deviation(r: Tensor, epsilon: float = 0.0) -> Tensor:
    """GRPO's advantages, normalised over the batch; epsilon is added to the group's std."""
    return batch_normalised(sample_deviation(r, epsilon=epsilon))


def leave_one_out_of_all(r: Tensor) -> Tensor:
    """r minus the mean of the batch's other rewards."""
    return leave_one_out(r.reshape(1, -1)).reshape(r.shape)


def over_the_others(r: Tensor) -> Tensor:
    """r minus the mean of the others, over their sample std; undivided where they agree."""
    size = r.shape[-1]
    other_rewards = r[:, [[j for j in range(size) if j != i] for i in range(size)]]
    agree = (other_rewards == other_rewards[..., :1]).all(dim=-1)
    deviation = other_rewards.std(dim=-1) + 1e-6
    return (r - other_rewards.mean(dim=-1)) / torch.where(agree, torch.ones_like(deviation), deviation)


def optimal_by_length(r: Tensor, longer: float = 2.0) -> Tensor:
    """OPO: r minus the mean weighted by length, where correct answers are `longer` times as long."""
    lengths = 1 + (longer - 1) * r
    return r - (lengths * r).sum(dim=-1, keepdim=True) / lengths.sum(dim=-1, keepdim=True)


def over_the_right_ones(r: Tensor) -> Tensor:
    """GPG: (r - m) times the batch's answers over its correct ones."""
    return mean_of_all(r) * r.numel() / torch.count_nonzero(r).clamp(min=1)


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
    """PKPO's weights minus their mean over the other answers, estimated from these alone."""
    rows, size = [], r.shape[-1]
    for group, own in zip(r, pkpo(r, k), strict=True):
        other_groups = [torch.cat([group[:i], group[i + 1 :]])[None] for i in range(size)]
        rows.append(own - torch.stack([pkpo(other_group, k).mean() for other_group in other_groups]))
    return torch.stack(rows)


def best_minus_second(r: Tensor) -> Tensor:
    """The best answer's reward minus the second best's, for the best one; zero for the others."""
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
