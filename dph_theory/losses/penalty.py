"""KL penalties on policy samples: this package's own, and those of trainers as their code computes them.

`kl_penalty` avoids cancellation and has its slopes in closed form. `kl_term` computes the estimates of
`kl_terms.ESTIMATORS` as trainers write them, with clamps, overflow and cancellation, because the audits
report these. x = log(pi/ref) of a sampled token; tensors are (batch, tokens).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from ..divergences import FORWARD_KL, REVERSE_KL
from ..support.errors import choice
from .generator import Loss, generator, log_ratio
from .inputs import TokenMask, Tokens, token_batch
from .kl_terms import ESTIMATORS, TokenEstimate, bounded
from .reductions import FunctionWithSlope, clear, reduced, weighted_sum, weights, working_dtype

FORMS = ("loss", "reward")
_FORWARD, _REVERSE = generator(FORWARD_KL, "normalised"), generator(REVERSE_KL, "normalised")


def kl_penalty(
    estimator: str,
    log_pi: Tokens,
    log_ref: Tokens,
    mask: TokenMask,
    *,
    log_old: Tokens | None = None,
    form: str = "loss",
    reduction: str = "token_mean",
) -> Tensor:
    """Estimate KL(pi || ref) on tokens sampled from the policy, with x = log_pi - log_ref.

    As form "loss" the result is differentiable in log_pi only; its expected gradient is 0 for k1, that of
    KL(pi || ref) for k2 and k3_corrected, and that of KL(ref || pi) for k3. As form "reward" the detached
    penalties are to be subtracted from the reward: then k1 gives the gradient of KL(pi || ref).

    Args:
        estimator: k1, k2, k3, or k3_corrected: (pi/pi_old) k3 with a differentiated importance weight.
        log_pi: Log-probabilities of the policy, shape (batch, tokens); `log_ref` those of the reference.
        log_ref: Log-probabilities of the reference, same shape.
        mask: True at the tokens that count, same shape.
        log_old: Log-probabilities of the sampling policy, for k3_corrected only.
        form: "loss" or "reward".
        reduction: Weights of the tokens in a loss, as in `reductions.weights`.

    Returns:
        A scalar for "loss"; penalties (batch, tokens), 0 at masked tokens, for "reward".

    Raises:
        ValueError: For an unknown name, log_old missing or superfluous, bad shapes, or a fully masked batch.

    Source: schulman2020kl; ours, entries `kl_estimators`.
    """
    choice("estimator", estimator, PENALTIES)
    choice("form", form, FORMS)
    tensors = {"log_pi": log_pi, "log_ref": log_ref}
    if (estimator == "k3_corrected") != (log_old is not None):
        given = "None" if log_old is None else "a tensor"
        allowed = "k3_corrected needs it, no other estimator takes it"
        raise ValueError(f"log_old={given} is not allowed: {allowed}")
    if log_old is not None:
        tensors["log_old"] = log_old
    mask = token_batch(mask, **tensors)
    function, dtype = PENALTIES[estimator], working_dtype(*tensors.values())
    if form == "reward":
        return function(*(clear(tensor.detach(), mask, dtype) for tensor in tensors.values()))[0]
    return weighted_sum(function, mask, weights(mask, "token", reduction, dtype), *tensors.values())


def _k1(log_pi: Tensor, log_ref: Tensor) -> tuple[Tensor, Tensor]:
    return log_ratio(log_pi, log_ref), torch.ones_like(log_pi)


def _k2(log_pi: Tensor, log_ref: Tensor) -> tuple[Tensor, Tensor]:
    x = log_ratio(log_pi, log_ref)
    return (x * x).mul_(0.5), x


def _k3(log_pi: Tensor, log_ref: Tensor) -> tuple[Tensor, Tensor]:
    value, slope = _FORWARD(log_ratio(log_ref, log_pi))
    return value, -slope


def _k3_corrected(log_pi: Tensor, log_ref: Tensor, log_old: Tensor) -> tuple[Tensor, Tensor]:
    # With w = log(pi/pi_old): value e^w k3(x), and because k3 + dk3/dx = x, slope e^w x. For x < 0 the e^-x
    # of k3 goes into the exponent, where it may cancel w: k3(x) = e^-x ((x-1)e^x + 1).
    x, w = log_ratio(log_pi, log_ref), log_ratio(log_pi, log_old)
    behind = _REVERSE(x.clamp(max=0))[0]
    ahead = _FORWARD(-x.clamp(min=0))[0]
    exponent = torch.where(log_pi == -torch.inf, log_ratio(log_ref, log_old), w - x.clamp(max=0))
    return _grown(exponent, behind + ahead), _grown(w, x)


def _grown(exponent: Tensor, factor: Tensor) -> Tensor:
    """e^exponent * factor elementwise, 0 if either is 0; overflows no earlier than the product itself."""
    root = (exponent / 2).exp_()
    return torch.where((factor == 0) | (root == 0), 0.0, root * (root * factor))


PENALTIES: dict[str, FunctionWithSlope] = {"k1": _k1, "k2": _k2, "k3": _k3, "k3_corrected": _k3_corrected}
"""Value and slope of the `kl_terms.KL_FORMS` that are used in the loss, without cancellation."""


class _Term(NamedTuple):
    """A batch's tensors and the clamped estimate that a place puts into a loss."""

    log_pi: Tensor
    log_ref: Tensor
    log_old: Tensor
    mask: Tensor
    estimate: TokenEstimate
    inner: float | None
    outer: float | None

    @property
    def x(self) -> Tensor:
        return self.log_pi - self.log_ref

    @property
    def value(self) -> Tensor:
        return self.estimate.clamped(torch, self.x, self.inner, self.outer)

    @property
    def cost(self) -> Tensor:
        """Estimated KL per token (batch, tokens), detached, 0 at masked tokens."""
        return clear(self.value.detach(), self.mask > 0, self.x.dtype)

    @property
    def ratio(self) -> Tensor:
        return torch.exp(self.log_pi - self.log_old)

    @property
    def answer_ratio(self) -> Tensor:
        """Geometric mean of pi/pi_old over each answer's tokens, (batch, 1)."""
        moved = clear(self.log_pi - self.log_old, self.mask > 0, self.x.dtype)
        return torch.exp(moved.sum(dim=-1, keepdim=True) / self.mask.sum(dim=-1, keepdim=True))

    @property
    def clamped_product(self) -> Tensor:
        """Clamped ratio times estimate, (batch, tokens); a clamped x also stops the ratio's gradient."""
        ratio = self.ratio
        if self.inner is not None:
            ratio = torch.where(self.x.abs() <= self.inner, ratio, ratio.detach())
        return bounded(ratio * self.estimate.clamped(torch, self.x, self.inner), self.outer)


_OF_TOKENS: Mapping[str, Callable[[_Term], Tensor]] = MappingProxyType(
    {
        "loss": lambda t: t.value,
        "straight through": lambda t: t.x**2 / 2 - (t.x**2 / 2).detach() + t.value.detach(),
        "ratio": lambda t: t.ratio * t.value,
        "held ratio": lambda t: t.ratio.detach() * t.value,
        "score": lambda t: t.ratio * t.value,
        "clamped ratio": lambda t: t.clamped_product,
        "clamped score": lambda t: t.clamped_product,
        "answer ratio": lambda t: t.answer_ratio * t.value,
        "ratio, held estimate": lambda t: t.ratio * t.cost,
        "reward": lambda t: t.log_pi * t.cost.sum(dim=-1, keepdim=True),
        "reward to go": lambda t: t.log_pi * t.cost.flip(-1).cumsum(-1).flip(-1),
        "own reward": lambda t: t.log_pi * t.cost,
        "sampler": lambda t: 2 * t.value,
    }
)
PLACES = tuple(_OF_TOKENS)
"""Places of an estimate in the loss: as a term; as its value with the gradient of x^2/2; times pi/old
(differentiated, detached, as the score e^(log pi - sg log pi), clamped after the product, one ratio per
answer, or with the estimate detached and summed over tokens); or as a cost of the policy gradient, summed
over tokens: of the whole answer, from each token on, or per token. "sampler": twice the estimate to old.
"""
_SUMMED = ("ratio, held estimate", "reward", "reward to go", "own reward", "sampler")
_WITH_OLD = ("ratio", "held ratio", "clamped ratio", "answer ratio", "ratio, held estimate")


def kl_term(
    place: str, estimator: str = "k3", *, inner: float | None = None, outer: float | None = None
) -> Loss:
    """Build a KL term as trainers write it: an estimate per token, its clamps, and its place in the loss.

    Args:
        place: One of PLACES, such as "loss", or "ratio" for pi/old times the estimate.
        estimator: One of `kl_terms.ESTIMATORS`.
        inner: Clamp of x to +-inner.
        outer: Clamp of the estimate (for "clamped ratio" and "clamped score", of the product) to +-outer.

    Returns:
        Function of some of (log_pi, log_ref, log_old, mask), each (batch, tokens), to a scalar in nats.

    Raises:
        ValueError: For another place or estimator.

    Example:
        >>> k3 = kl_term("loss", "k3")
        >>> k3(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2))
        tensor(0.)

    Source: schulman2020kl; the trainers' code, see `dph_theory.losses.kl_terms`.
    """
    choice("place", place, PLACES)
    choice("estimator", estimator, ESTIMATORS)
    reduction = "sequence_sum" if place in _SUMMED else "token_mean"

    def off_policy(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        batch = _Term(log_pi, log_ref, log_old, mask, ESTIMATORS[estimator], inner, outer)
        return reduced(_OF_TOKENS[place](batch), mask, reduction)

    def on_policy(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return off_policy(log_pi, log_ref, log_pi.detach(), mask)

    def to_sampler(log_pi: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
        return off_policy(log_pi, log_old, log_old, mask)

    if place == "sampler":
        return to_sampler
    return off_policy if place in _WITH_OLD else on_policy
