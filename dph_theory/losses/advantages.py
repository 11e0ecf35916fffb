"""Advantages of rewards (groups, size): this package's own, and the published forms.

`group_advantages` and most published forms share one function, `normalised`; advantages.txt lists each form
with its source. A group has G answers to a prompt, k of them correct; r is the reward and m its mean over the
group. Published code drops a group whose divisor is zero; its advantages are zero here.
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
from .methods import ADVANTAGE_BASELINES
from .reductions import working_dtype

Advantage = Callable[[Any], Any]  # Maps rewards (groups, G) to advantages (groups, G).
DIVISORS = ("std", "mean", "none")
"""Divisors of an advantage: the group's std (GRPO), its mean (MaxRL), or none (Dr. GRPO, RLOO)."""
# Added to a std or a mean.
EPSILONS = tuple(float(f"{digit}e-{power}") for power in range(1, 11) for digit in (1, 2, 3, 5))


def _deviation(centred: Tensor, axes: tuple[int, ...], correction: int) -> Tensor:
    """Std over these axes (retained with length 1), computed in units of the largest value."""
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
"""Divisor of an advantage, from the rewards and the rewards minus their baseline."""


def _over(top: Tensor, below: Tensor) -> Tensor:
    return torch.where(below > 0, top / torch.where(below > 0, below, 1.0), 0 * top)


def normalised(
    r: Tensor, *, divided_by: str = "none", baseline: str = "mean", epsilon: float = 0.0
) -> Tensor:
    """Advantages (r - baseline)/(spread + epsilon), (groups, size); zero if the spread is zero.

    The baseline is the group's "mean", the "batch" mean, or "leave_one_out", the mean of the others. The
    spread is `divided_by`.
    """
    size = r.shape[-1]
    centred = r - (r.mean() if baseline == "batch" else r.mean(dim=-1, keepdim=True))
    advantages = _over(centred, _SPREADS[divided_by](r, centred) + epsilon)
    return advantages * size / (size - 1) if baseline == "leave_one_out" else advantages


def group_advantages(rewards: Tensor, *, divided_by: str = "std", baseline: str = "mean") -> Tensor:
    """Reward minus a baseline, divided by the group's spread or mean.

    All baselines have one expected gradient, up to a factor; they differ in how far sampling noise drives
    correct answers apart, which is least with "one". With the two means a group of equal rewards gets 0.

    Args:
        rewards: Floating-point rewards, shape (groups, size), size at least 2.
        divided_by: "std", the group's population std with no constant added; "mean", for rewards that are not
            negative; or "none". The first two need a baseline that is a mean.
        baseline: "mean" of the group; "leave_one_out", the mean of the others, which scales the difference by
            size/(size-1); "one", so that only incorrect answers have an advantage; "none", only correct ones.

    Returns:
        Advantages, shape (groups, size), float64 for float64 rewards and float32 otherwise.

    Raises:
        ValueError: For integer, non-finite or (with "mean") negative rewards, another shape or name.

    Example:
        >>> group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), divided_by="mean")
        tensor([[ 3., -1., -1., -1.]])

    Source: shao2024grpo; "mean", tajwar2026maxrl; entries `sampling_noise`, `retention`.
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
    # Compared by the rewards themselves: rounding may shift the mean of equal numbers by a last bit.
    informative = informative_groups(rewards)[:, None]
    return torch.where(informative, normalised(r, divided_by=divided_by, baseline=baseline), 0.0)


def informative_groups(rewards: Tensor) -> Tensor:
    """Mark the groups whose rewards differ (DAPO's dynamic sampling): (groups, size) to booleans (groups,).

    Groups of equal rewards have zero advantage and only dilute the mean. Raises ValueError as
    `group_advantages`. Source: yu2025dapo.
    """
    check_groups(rewards)
    return rewards.amax(dim=1) > rewards.amin(dim=1)


def check_groups(rewards: Tensor) -> None:
    """Raise ValueError for rewards that are not finite, or not in groups of two or more."""
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
    """GRPO's advantages (groups, size), normalised again over the batch; epsilon adds to group stds."""
    return batch_normalised(sample_deviation(r, epsilon=epsilon))


def leave_one_out_of_all(r: Tensor) -> Tensor:
    """Advantages (groups, size): each reward minus the mean of the batch's other rewards."""
    return leave_one_out(r.reshape(1, -1)).reshape(r.shape)


def over_the_others(r: Tensor) -> Tensor:
    """Reward minus the others' mean, over the others' std (undivided if they agree); (groups, size)."""
    size = r.shape[-1]
    other_rewards = r[:, [[j for j in range(size) if j != i] for i in range(size)]]
    agree = (other_rewards == other_rewards[..., :1]).all(dim=-1)
    deviation = other_rewards.std(dim=-1) + 1e-6
    return (r - other_rewards.mean(dim=-1)) / torch.where(agree, torch.ones_like(deviation), deviation)


def optimal_by_length(r: Tensor, longer: float = 2.0) -> Tensor:
    """OPO: r minus the length-weighted mean, (groups, size); correct answers are `longer` times as long."""
    lengths = 1 + (longer - 1) * r
    return r - (lengths * r).sum(dim=-1, keepdim=True) / lengths.sum(dim=-1, keepdim=True)


def over_the_right_ones(r: Tensor) -> Tensor:
    """GPG: (r - mean of the batch) times answers over correct answers in the batch; (groups, size)."""
    return mean_of_all(r) * r.numel() / torch.count_nonzero(r).clamp(min=1)


def over_the_mean_unbiased(r: Tensor) -> Tensor:
    """r/m - 1 with m the group's mean, (groups, size); -1 if no answer is correct."""
    return _over(r, r.mean(dim=-1, keepdim=True)) - 1


def _by_right(r: Tensor, values: Callable[[int], tuple[float, float]]) -> Tensor:
    """Advantages (groups, size) from values(correct count) -> (for a correct, for an incorrect answer)."""
    advantages = torch.tensor([values(int(right)) for right in r.sum(dim=-1)], dtype=r.dtype)
    return advantages[:, 1:] + (advantages[:, :1] - advantages[:, 1:]) * r


def _pass_at(size: int, right: int, k: int) -> float:
    return 1 - comb(max(size - right, 0), k) / comb(size, k)


def pkpo(r: Tensor, k: int = 4) -> Tensor:
    """G times PKPO's weights, (groups, size): k if correct, else k rho(G-1, c, k-1), rho as pass@(k-1)."""
    size = r.shape[-1]
    return _by_right(r, lambda right: (k, k * _pass_at(size - 1, right, k - 1)))


def pkpo_leave_one_out(r: Tensor, k: int = 2) -> Tensor:
    """PKPO's weights minus their mean over the other answers, estimated from these alone; (groups, size)."""
    rows, size = [], r.shape[-1]
    for group, own in zip(r, pkpo(r, k), strict=True):
        other_groups = [torch.cat([group[:i], group[i + 1 :]])[None] for i in range(size)]
        rows.append(own - torch.stack([pkpo(other_group, k).mean() for other_group in other_groups]))
    return torch.stack(rows)


def best_minus_second(r: Tensor) -> Tensor:
    """Best reward minus the second best, for the best answer; zero for others; (groups, size)."""
    top = r.topk(2, dim=-1).values
    first = torch.nn.functional.one_hot(r.argmax(dim=-1), r.shape[-1]).to(r.dtype)
    return first * (top[:, :1] - top[:, 1:])


def pass_at_k_training(r: Tensor, k: int = 4) -> Tensor:
    """Advantages (groups, size): (1-R)/s if correct, else (1 - R - C(w-1,k-1)/C(G-1,k-1))/s.

    R is pass@k of the group, w the number of incorrect answers, s = sqrt(R (1-R)).
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
    """GRPO's advantages of r (1 - bonus (G - rank)/G); position = rank 1 .. G, likeliest answer first."""
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
        """Functions of the advantage at each setting of k or epsilon, by name, for that group size."""
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
# Every form whose audit the docs show.
FORMS = tuple(_parsed(*row) for row in _ROWS if "across" not in row[-1])
ACROSS_GROUPS = tuple(_parsed(*row) for row in _ROWS if "across" in row[-1])
"""Further forms for comparison: within a group alone they equal other forms."""
