"""The exploration half: the clipped surrogate, group-relative advantages, the dynamic filter."""

import math

import torch
from torch import Tensor

from ..support.errors import argument_error, choice
from .generator import log_ratio
from .inputs import LEVELS, TokenMask, Tokens, floats, number, token_batch
from .reductions import at_level, weighted_sum, weights, working_dtype


def ppo_clip_loss(
    log_pi: Tokens,
    log_old: Tokens,
    advantages: Tensor,
    mask: TokenMask,
    *,
    clip_low: float,
    clip_high: float,
    level: str = "token",
    dual_clip: float | None = None,
    reduction: str = "token_mean",
) -> Tensor:
    """The mean of -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = pi/pi_old; a scalar to minimise.

    With dual_clip = c > 1, r is held below c where A < 0. level "token" takes each token's ratio,
    "sequence" the product over the row's tokens that count. log_pi, log_old, mask (batch, tokens);
    advantages (batch,), or (batch, tokens) at the token level. Differentiable in log_pi only; dtypes as in
    `generator_loss`. An advantage of 0 contributes 0 at any ratio.
    Raises ValueError for clip_low outside (0, 1), clip_high <= 0, dual_clip <= 1, unknown level or
    reduction, shapes that differ, integers, a batch with every token masked.
    Source: shao2024grpo; the asymmetric clip and the token mean: yu2025dapo.
    """
    choice("level", level, LEVELS)
    low = math.log1p(-number("clip_low", clip_low, above=0, below=1))
    high = math.log1p(number("clip_high", clip_high, above=0))
    ceiling = math.inf if dual_clip is None else math.log(number("dual_clip", dual_clip, above=1))
    mask = token_batch(mask, log_pi=log_pi, log_old=log_old)
    shaped = _shaped(advantages, mask, level)
    terms, (pi, old) = at_level(level, mask, log_pi, log_old)
    weight = weights(mask, level, reduction, working_dtype(log_pi, log_old, advantages))

    def surrogate(log_pi: Tensor, log_old: Tensor, advantage: Tensor) -> tuple[Tensor, Tensor]:
        # min(r A, clip(r) A) bounds r from above where A > 0 and from below where A < 0. Bounding log r
        # before the exponential keeps infinities of the side not chosen out of value and slope.
        x = torch.where(advantage == 0, 0.0, log_ratio(log_pi, log_old))
        least, most = torch.full_like(x, -math.inf), torch.full_like(x, high)
        least[advantage < 0] = low
        most[advantage < 0] = ceiling
        bounded = x.maximum(least).minimum(most)
        value = -advantage * bounded.exp()
        return value, torch.where(bounded == x, value, 0.0)

    return weighted_sum(surrogate, terms, weight, pi, old, shaped)


def _shaped(advantages: Tensor, mask: TokenMask, level: str) -> Tensor:
    """The advantages as (batch, terms) of the level."""
    if isinstance(advantages, Tensor) and advantages.ndim == 2 and level == "token":
        floats("advantages", advantages, ("batch", "tokens"))
        allowed, shaped = mask.shape, advantages
    else:
        floats("advantages", advantages, ("batch",))
        allowed, shaped = mask.shape[:1], advantages[:, None]
    if advantages.shape != allowed:
        required = f"must match mask's {tuple(mask.shape)}"
        raise argument_error("advantages.shape", tuple(advantages.shape), required)
    return shaped.expand(mask.shape) if level == "token" else shaped


ADVANTAGE_BASELINES = ("mean", "leave_one_out", "one", "none")
DIVISORS = ("std", "mean", "none")
"""What an advantage is divided by: the group's std (GRPO), its mean (MaxRL), or nothing (Dr. GRPO, RLOO)."""


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
    if baseline in ("one", "none"):
        if divided_by != "none":
            raise argument_error("divided_by", divided_by, f"none with baseline={baseline!r}")
        return rewards.to(working_dtype(rewards)) - (1.0 if baseline == "one" else 0.0)
    size = rewards.shape[1]
    # By the rewards themselves: rounding leaves a mean of equal numbers a last bit off.
    equal = ~informative_groups(rewards)[:, None]
    rewards = rewards.to(working_dtype(rewards))
    mean = rewards.mean(dim=1, keepdim=True)
    advantages = rewards - mean
    if divided_by == "mean":
        if (rewards < 0).any():
            raise argument_error("rewards", float(rewards.min()), "at least 0, to be divided by their mean")
        advantages = advantages / torch.where(equal, 1.0, mean)
    elif divided_by == "std":
        # In units of the largest, so that no square underflows.
        largest = advantages.abs().amax(dim=1, keepdim=True)
        advantages = advantages / torch.where(equal, 1.0, largest)
        deviation = advantages.square().mean(dim=1, keepdim=True).sqrt()
        advantages = advantages / torch.where(equal, 1.0, deviation)
    if baseline == "leave_one_out":
        advantages = advantages * size / (size - 1)
    return torch.where(equal, 0.0, advantages)


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
