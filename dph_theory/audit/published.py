"""The KL terms in circulation as published, with their sources."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from ..losses import generator_loss
from ..references import Source
from ..trainers import restated
from ..trainers.restated import Loss, kl_term, unmasked


@dataclass(frozen=True)
class PublishedLoss:
    """One loss as published, on the samples it is used with; `source` is a paper key or a public code."""

    title: str
    source: str
    formula: str
    samples: str
    loss: Loss


def pseudo_reward_loss(slope: Callable[[Tensor], Tensor]) -> Loss:
    """Policy gradient with the pseudo-reward -f'(pi/ref) of the whole answer, held fixed.

    Parameters: `slope`, x = log(pi/ref) of the answer -> f'(e^x). Returns a function of (log_pi, log_ref,
    mask), each (batch, tokens), to a scalar, the mean over answers. Source: go2023fdpg.
    """

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        total = unmasked(log_pi, mask).sum(dim=-1)
        x = (total - unmasked(log_ref, mask).sum(dim=-1)).detach()
        return (total * slope(x)).mean()

    return loss


_SCHULMAN, _GRPO = str(Source("schulman2020kl")), str(Source("shao2024grpo", "equation 4"))
_FDPG, _THEORY = str(Source("go2023fdpg", "the f-DPG gradient")), str(Source("ours", "rehearsal_gauge"))
_DEEPSEEK = str(Source("deepseek2025v32", "section 3.1"))
_VERL = "verl, verl/trainer/ppo/core_algos.py, kl_penalty"
_TRL = "TRL, huggingface/trl issue 6586"
_K3, _JS = "r - 1 - log r", "u log u - (u+1) log((u+1)/2)"
_ALPHA = "(u^(1-a) - (1-a) u - a) / (a(a-1))"
_REWARD, _OWN = "sum_t log pi_t sg(sum_s log(pi_s/ref_s))", "sum_t log pi_t sg(log(pi_t/ref_t))"
_TO_GO, _WITH_OLD = "sum_t log pi_t sg(sum_{s>=t} log(pi_s/ref_s))", f"mean_t pi/old ({_K3}), r = ref/pi"
_BY_ANSWER = "mean_t exp(mean_s log(pi_s/old_s)) (r_t - 1 - log r_t), r = ref/pi"
_LOW_VAR = f"mean_t clip({_K3}, -10, 10), log r = clip(log(ref/pi), -20, 20)"
_K3_PLUS, _STRAIGHT = "value of k3, gradient of k2", "mean_t (sg(clamped k3) + k2 - sg(k2))"
_FORWARD = "clip(u - 1 - log u, -10, 10), log u = clip(log(pi/ref), -20, 20)"
_HALF_JS = "clip(w - 1 - log w, -10, 10), log w = clip(log(m/ref), -20, 20), m = (pi+ref)/2"
_POLICY, _EITHER, _STORED = ("policy",), ("policy", "old_policy"), ("filtered", "reference")
"""Rehearsal is audited on correct samples of the reference, as rehearsed, and on all, as in theory."""


def _f_dpg(title: str, reward: str, slope: Callable[[Tensor], Tensor]) -> tuple[Any, ...]:
    formula = f"log pi(y) sg({reward}), u = pi(y)/ref(y)"
    return title, _FDPG, formula, pseudo_reward_loss(slope), _POLICY


def _released(mode: str, formula: str, loss: Loss, coefficient: str = "") -> tuple[Any, ...]:
    """A mode of the code that the authors of DPH-RL released."""
    source = str(Source("li2025choice", f"released code, sft_loss_mode {mode}{coefficient}"))
    return f"released {mode}", source, f"mean_t {formula}", loss, _STORED


def _ours(title: str, formula: str, divergence: FDivergence, gauge: str = "printed") -> tuple[Any, ...]:
    """The rehearsal loss of this package."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return generator_loss(divergence, log_pi - log_ref, mask, gauge=gauge)

    return title, _THEORY, f"mean_t {formula}", loss, _STORED


_ROWS: tuple[tuple[Any, ...], ...] = (
    ("k1", _SCHULMAN, "mean_t log(pi/ref)", kl_term("loss", "k1"), _POLICY),
    ("k2", _SCHULMAN, "mean_t log(pi/ref)^2 / 2", kl_term("loss", "k2"), _POLICY),
    ("k3", _GRPO, f"mean_t ({_K3}), r = ref/pi", kl_term("loss"), _EITHER),
    ("k1 in the reward", _SCHULMAN, _REWARD, kl_term("reward", "k1"), _POLICY),
    ("k1 in the reward to go", _SCHULMAN, _TO_GO, kl_term("reward to go", "k1"), _POLICY),
    ("k1 in each token's own advantage", _SCHULMAN, _OWN, kl_term("own reward", "k1"), _POLICY),
    ("corrected k3", _DEEPSEEK, _WITH_OLD, kl_term("ratio"), _EITHER),
    ("k3 corrected by a sequence ratio", _TRL, _BY_ANSWER, kl_term("answer ratio"), _POLICY),
    ("absolute log ratio", f"{_VERL} abs", "mean_t |log(pi/ref)|", kl_term("loss", "abs"), _POLICY),
    ("clamped k3", f"{_VERL} low_var_kl", _LOW_VAR, kl_term("loss", inner=20, outer=10), _POLICY),
    (_K3_PLUS, f"{_VERL} k3+", _STRAIGHT, kl_term("straight through", inner=20, outer=10), _POLICY),
    _f_dpg("f-DPG forward KL", "-1/u", lambda x: -torch.exp(-x)),
    _f_dpg("f-DPG reverse KL", "log u + 1", lambda x: x + 1),
    _f_dpg("f-DPG JS", "log(2u/(u+1))", lambda x: math.log(2) - torch.logaddexp(-x, torch.zeros_like(x))),
    _released("forward", _FORWARD, restated.released_forward),
    _released("js", _HALF_JS, restated.released_half_js),
    _released("js_low_var", f"({_JS}), u = pi/ref", restated.released_js),
    _released("alpha", f"{_ALPHA}, u = pi/ref, a = 0.2", restated.released_alpha, ", alpha_coeff 0.2"),
    _ours("forward KL, printed", "-log u, u = pi/ref", FORWARD_KL),
    _ours("forward KL, normalised", "(u - 1 - log u), u = pi/ref", FORWARD_KL, "normalised"),
    _ours("JS", f"({_JS}), u = pi/ref", JENSEN_SHANNON),
    _ours("alpha 0.5", f"{_ALPHA}, u = pi/ref, a = 0.5", alpha_divergence(0.5)),
)
CATALOGUE: tuple[PublishedLoss, ...] = tuple(
    PublishedLoss(title, source, formula, samples, loss)
    for title, source, formula, loss, all_samples in _ROWS
    for samples in all_samples
)
"""Every form whose audit the docs show; sg holds its argument fixed, mean_t is over tokens."""
