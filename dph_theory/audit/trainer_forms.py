"""The KL terms of trainers: an estimate a token, clamped, weighted, held fixed or put in the reward."""

from collections.abc import Callable

import torch
from torch import Tensor

from . import catalogue_forms as forms

Estimator = Callable[[Tensor, Tensor], Tensor]
"""(log_pi, log_ref) -> an estimate a token."""


def k1(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """The log ratio x."""
    return log_pi - log_ref


def k2(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """x^2/2."""
    return (log_pi - log_ref) ** 2 / 2


def k3(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """e^{-x} - 1 + x."""
    return torch.exp(log_ref - log_pi) - 1 - (log_ref - log_pi)


def within(estimate: Estimator, inner: float | None, outer: float | None) -> Estimator:
    """The estimate with |x| clamped at `inner`, and the result at `outer`."""

    def clamped(log_pi: Tensor, log_ref: Tensor) -> Tensor:
        if inner is not None:
            log_pi, log_ref = (log_pi - log_ref).clamp(-inner, inner), torch.zeros_like(log_ref)
        found = estimate(log_pi, log_ref)
        return found if outer is None else found.clamp(-outer, outer)

    return clamped


def plain(estimate: Estimator) -> forms.Loss:
    """The estimate in the loss."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return forms.token_mean(estimate(log_pi, log_ref), mask)

    return loss


def straight_through(estimate: Estimator) -> forms.Loss:
    """The value of the estimate, the gradient of k2."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        square = k2(log_pi, log_ref)
        return forms.token_mean(square - square.detach() + estimate(log_pi, log_ref).detach(), mask)

    return loss


def weighted(
    estimate: Estimator, *, held: bool = False, inner: float | None = None, outer: float | None = None
) -> forms.Loss:
    """The estimate times pi/old, the ratio held fixed or differentiated; then clamped at `outer`.

    inner: |x| is clamped there, and the ratio held fixed where it is.
    """

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        ratio = torch.exp(log_pi - log_old)
        found = _times(ratio.detach() if held else ratio, estimate, inner, log_pi, log_ref)
        return forms.token_mean(found if outer is None else found.clamp(-outer, outer), mask)

    return loss


def scored(estimate: Estimator, *, inner: float | None = None, outer: float | None = None) -> forms.Loss:
    """The same with e^{log pi - sg log pi}, which is one and has the gradient of log pi, as the ratio."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        found = _times(torch.exp(log_pi - log_pi.detach()), estimate, inner, log_pi, log_ref)
        return forms.token_mean(found if outer is None else found.clamp(-outer, outer), mask)

    return loss


def _times(
    ratio: Tensor, estimate: Estimator, inner: float | None, log_pi: Tensor, log_ref: Tensor
) -> Tensor:
    if inner is None:
        return ratio * estimate(log_pi, log_ref)
    kept = (log_pi - log_ref).abs() <= inner
    return torch.where(kept, ratio, ratio.detach()) * within(estimate, inner, None)(log_pi, log_ref)


def weighted_held_estimate(estimate: Estimator) -> forms.Loss:
    """The differentiated ratio pi/old times the estimate held fixed; summed over tokens."""

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return forms.sequence_sum(torch.exp(log_pi - log_old) * estimate(log_pi, log_ref).detach(), mask)

    return loss


def in_reward(estimate: Estimator) -> forms.Loss:
    """Policy gradient with the whole answer's sum of the estimate as cost; summed over tokens."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        cost = (estimate(log_pi, log_ref).detach() * (mask > 0)).sum(dim=-1, keepdim=True)
        return forms.sequence_sum(log_pi * cost, mask)

    return loss


def to_sampler(power: int) -> forms.Loss:
    """The log ratio to the policy that drew the samples, to this power; summed over tokens."""

    def loss(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return forms.sequence_sum((log_pi - log_old) ** power, mask)

    return loss
