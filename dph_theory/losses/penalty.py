"""KL penalties on policy samples: estimators as a loss, differentiated, or in the reward, detached."""

import torch
from torch import Tensor

from ..divergences import FORWARD_KL, REVERSE_KL
from ..support.errors import choice
from .generator import generator, log_ratio
from .inputs import TokenMask, Tokens, token_batch
from .reductions import FunctionWithSlope, clear, weighted_sum, weights, working_dtype

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
    """An estimate of KL(pi || ref) on tokens sampled from the policy, with x = log_pi - log_ref.

    The estimator is one of `losses.kl_terms.KL_FORMS`: k1, k2, k3, or k3_corrected, (pi/pi_old) k3, the
    importance weight differentiated too, the only one to need log_old. As form "loss" a scalar,
    differentiable in log_pi only; in expectation its gradient is 0 for k1, that of KL(pi || ref) for k2 and
    k3_corrected, and that of KL(ref || pi) for k3. As form "reward" the penalties themselves, (batch,
    tokens), detached, 0 at masked tokens, to be subtracted from the reward: then k1 gives the gradient of
    KL(pi || ref). All tensors (batch, tokens). Raises ValueError for another estimator, form or reduction,
    log_old missing or superfluous, shapes that differ, integers, a batch with every token masked.
    Source: schulman2020kl; ours, entries `kl_estimators`.
    """
    choice("estimator", estimator, ESTIMATORS)
    choice("form", form, FORMS)
    tensors = {"log_pi": log_pi, "log_ref": log_ref}
    if (estimator == "k3_corrected") != (log_old is not None):
        given = "None" if log_old is None else "a tensor"
        allowed = "k3_corrected needs it, no other estimator takes it"
        raise ValueError(f"log_old={given} is not allowed: {allowed}")
    if log_old is not None:
        tensors["log_old"] = log_old
    mask = token_batch(mask, **tensors)
    function, dtype = ESTIMATORS[estimator], working_dtype(*tensors.values())
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
    # With w = log(pi/pi_old): value e^w k3(x), and since k3 + dk3/dx = x, slope e^w x. For x < 0 the e^-x
    # of k3 goes into the exponent, where it may cancel w: k3(x) = e^-x ((x-1)e^x + 1).
    x, w = log_ratio(log_pi, log_ref), log_ratio(log_pi, log_old)
    behind = _REVERSE(x.clamp(max=0))[0]
    ahead = _FORWARD(-x.clamp(min=0))[0]
    exponent = torch.where(log_pi == -torch.inf, log_ratio(log_ref, log_old), w - x.clamp(max=0))
    return _grown(exponent, behind + ahead), _grown(w, x)


def _grown(exponent: Tensor, factor: Tensor) -> Tensor:
    """The product e^exponent factor, 0 where either is, and no sooner infinite than it."""
    root = (exponent / 2).exp_()
    return torch.where((factor == 0) | (root == 0), 0.0, root * (root * factor))


ESTIMATORS: dict[str, FunctionWithSlope] = {"k1": _k1, "k2": _k2, "k3": _k3, "k3_corrected": _k3_corrected}
"""What `kl_terms.KL_FORMS` puts into the loss, without cancellation; each vanishes where pi = ref."""
