"""What KL terms are made of: an estimate a token, clamped, weighted, held fixed or put in the reward.

Tensors are (batch, tokens); a loss is the mean over the tokens that count unless it says otherwise.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Loss = Callable[..., Tensor]
Estimator = Callable[[Tensor, Tensor], Tensor]
"""(log_pi, log_ref) -> an estimate a token."""


def kept(values: Tensor, mask: Tensor) -> Tensor:
    """The values of the tokens that count; zero for the others, which may hold anything."""
    return torch.where(mask > 0, values, torch.zeros_like(values))


def token_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the tokens that count."""
    return kept(values, mask).sum() / mask.sum()


def sequence_sum(values: Tensor, mask: Tensor) -> Tensor:
    """The sum over each sequence's tokens, then the mean over the sequences."""
    return kept(values, mask).sum(dim=-1).mean()


def k1(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """The log ratio x."""
    return log_pi - log_ref


def k2(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """x^2/2."""
    return (log_pi - log_ref) ** 2 / 2


def k3(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """e^{-x} - 1 + x."""
    return torch.exp(log_ref - log_pi) - 1 - (log_ref - log_pi)


def absolute(log_pi: Tensor, log_ref: Tensor) -> Tensor:
    """|x|."""
    return (log_pi - log_ref).abs()


def within(estimate: Estimator, inner: float | None, outer: float | None) -> Estimator:
    """The estimate with |x| clamped at `inner`, and the result at `outer`."""

    def clamped(log_pi: Tensor, log_ref: Tensor) -> Tensor:
        if inner is not None:
            log_pi, log_ref = (log_pi - log_ref).clamp(-inner, inner), torch.zeros_like(log_ref)
        found = estimate(log_pi, log_ref)
        return found if outer is None else found.clamp(-outer, outer)

    return clamped


def plain(estimate: Estimator) -> Loss:
    """The estimate in the loss."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return token_mean(estimate(log_pi, log_ref), mask)

    return loss


def straight_through(estimate: Estimator) -> Loss:
    """The value of the estimate, the gradient of k2."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        square = k2(log_pi, log_ref)
        return token_mean(square - square.detach() + estimate(log_pi, log_ref).detach(), mask)

    return loss


def weighted(
    estimate: Estimator, *, held: bool = False, inner: float | None = None, outer: float | None = None
) -> Loss:
    """The estimate times pi/old, the ratio held fixed or differentiated; then clamped at `outer`.

    inner: |x| is clamped there, and the ratio held fixed where it is.
    """

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        ratio = torch.exp(log_pi - log_old)
        found = _times(ratio.detach() if held else ratio, estimate, inner, log_pi, log_ref)
        return token_mean(found if outer is None else found.clamp(-outer, outer), mask)

    return loss


def scored(estimate: Estimator, *, inner: float | None = None, outer: float | None = None) -> Loss:
    """The same with e^{log pi - sg log pi}, which is one and has the gradient of log pi, as the ratio."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        found = _times(torch.exp(log_pi - log_pi.detach()), estimate, inner, log_pi, log_ref)
        return token_mean(found if outer is None else found.clamp(-outer, outer), mask)

    return loss


def _times(
    ratio: Tensor, estimate: Estimator, inner: float | None, log_pi: Tensor, log_ref: Tensor
) -> Tensor:
    if inner is None:
        return ratio * estimate(log_pi, log_ref)
    near = absolute(log_pi, log_ref) <= inner
    return torch.where(near, ratio, ratio.detach()) * within(estimate, inner, None)(log_pi, log_ref)


def weighted_held_estimate(estimate: Estimator) -> Loss:
    """The differentiated ratio pi/old times the estimate held fixed; summed over tokens."""

    def loss(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return sequence_sum(torch.exp(log_pi - log_old) * estimate(log_pi, log_ref).detach(), mask)

    return loss


def in_reward(estimate: Estimator) -> Loss:
    """Policy gradient with the whole answer's sum of the estimate as cost; summed over tokens."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        cost = kept(estimate(log_pi, log_ref).detach(), mask).sum(dim=-1, keepdim=True)
        return sequence_sum(log_pi * cost, mask)

    return loss


def to_sampler(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """The squared log ratio to the policy that drew the samples; summed over tokens."""
    return sequence_sum((log_pi - log_old) ** 2, mask)
