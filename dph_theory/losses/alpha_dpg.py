"""The reward of alpha-DPG, whose policy gradient minimises an alpha-divergence to the filtered model."""

import math

import torch
from torch import Tensor

from ..support.errors import argument_error
from .inputs import booleans, number, same_shape
from .reductions import working_dtype


def alpha_dpg_rewards(
    log_pi: Tensor,
    log_base: Tensor,
    valid: Tensor,
    log_base_rate: Tensor,
    alpha: float,
    *,
    ratio_clip: float | None = None,
) -> Tensor:
    """Reward of alpha-DPG, detached: R(y) = ((p_*(y)/pi(y))^alpha - 1)/alpha, -1/alpha on incorrect y.

    log p_*(y) = log_base - log_base_rate on correct y. E_pi[R grad log pi] = -grad D_{f_alpha}(pi || p_*),
    and alpha = 1 is KL-DPG. In the authors' code (naver/alpha-dpg a6f42d0) alpha is 1 minus this one, and the
    reward is not divided by alpha. Takes sequence log-probabilities log_pi, log_base and valid (...,
    samples), and log_base_rate (...), at most 0; the result has log_pi's shape and the working dtype.
    ratio_clip, off by default, bounds p_*/pi from above; see `clipped_ratio_count`. Raises ValueError for
    alpha or ratio_clip not positive and finite, shapes that do not fit, integers, rates above one. Source:
    kruszewski2026whatever, go2023fdpg.
    """
    number("alpha", alpha, above=0)
    log_ratio, valid = _log_ratio(log_pi, log_base, valid, log_base_rate)
    if ratio_clip is not None:
        log_ratio = log_ratio.clamp(max=math.log(number("ratio_clip", ratio_clip, above=0)))
    return torch.where(valid, torch.expm1(alpha * log_ratio) / alpha, -1 / alpha)


def clipped_ratio_count(
    log_pi: Tensor, log_base: Tensor, valid: Tensor, log_base_rate: Tensor, *, ratio_clip: float
) -> Tensor:
    """Number of correct samples whose ratio p_*/pi exceeds ratio_clip, an integer scalar.

    Shapes and errors are those of `alpha_dpg_rewards`.
    """
    log_ratio, valid = _log_ratio(log_pi, log_base, valid, log_base_rate)
    return ((log_ratio > math.log(number("ratio_clip", ratio_clip, above=0))) & valid).sum()


def _log_ratio(
    log_pi: Tensor, log_base: Tensor, valid: Tensor, log_base_rate: Tensor
) -> tuple[Tensor, Tensor]:
    """log(p_*/pi), 0 on incorrect samples whatever their values, and the correct samples as booleans."""
    tensors = {"log_pi": log_pi, "log_base": log_base, "log_base_rate": log_base_rate}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            kind = getattr(tensor, "dtype", type(tensor).__name__)
            raise argument_error(f"{name}.dtype", kind, "a tensor of float64, float32, bfloat16 or float16")
    valid = booleans("valid", valid)
    same_shape(log_pi=log_pi, log_base=log_base, valid=valid)
    if log_base_rate.shape != log_pi.shape[:-1]:
        allowed = f"one for each {tuple(log_pi.shape[:-1])}"
        raise argument_error("log_base_rate.shape", tuple(log_base_rate.shape), allowed)
    if not (log_base_rate <= 0).all():
        raise argument_error("log_base_rate", log_base_rate.max().item(), "log-probabilities, at most 0")
    dtype = working_dtype(*tensors.values())
    pi, base, rate = (tensor.detach().to(dtype) for tensor in tensors.values())
    # p_* has no mass where the base has none, whatever the policy has.
    ratio = torch.where(base == -math.inf, -math.inf, base - rate[..., None] - pi)
    return torch.where(valid, ratio, 0.0), valid
