"""The KL terms in circulation as published, with their sources."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..fdivergence import FDivergence
from ..losses import generator_loss, kl_term
from ..losses import released as forms
from ..losses.released import Loss
from ..references import Source


@dataclass(frozen=True)
class PublishedLoss:
    """One loss as published, on the samples it is used with; `source` is a paper key or a public code."""

    title: str
    source: str
    formula: str
    samples: str
    loss: Loss


_SCHULMAN, _GRPO = str(Source("schulman2020kl")), str(Source("shao2024grpo", "equation 4"))
_FDPG = str(Source("go2023fdpg", "the f-DPG gradient"))
_OURS = str(Source("ours", "theory B3"))
_DEEPSEEK = str(Source("deepseek2025v32", "section 3.1"))
_VERL = "verl, verl/trainer/ppo/core_algos.py, kl_penalty"
_TRL = "TRL, huggingface/trl issue 6586"


def _released(place: str) -> str:
    """A place in the code that the authors of DPH-RL released."""
    return str(Source("li2025choice", f"released code, {place}"))


_ON_POLICY_SAMPLES: tuple[PublishedLoss, ...] = (
    PublishedLoss("k1", _SCHULMAN, "mean_t log(pi/ref)", "policy", kl_term("loss", "k1")),
    PublishedLoss("k2", _SCHULMAN, "mean_t log(pi/ref)^2 / 2", "policy", kl_term("loss", "k2")),
    PublishedLoss("k3", _GRPO, "mean_t (r - 1 - log r), r = ref/pi", "policy", kl_term("loss", "k3")),
    PublishedLoss("k3", _GRPO, "mean_t (r - 1 - log r), r = ref/pi", "old_policy", kl_term("loss", "k3")),
    PublishedLoss(
        "k1 in the reward",
        _SCHULMAN,
        "sum_t log pi_t sg(sum_s log(pi_s/ref_s))",
        "policy",
        kl_term("reward", "k1"),
    ),
    PublishedLoss(
        "k1 in the reward to go",
        _SCHULMAN,
        "sum_t log pi_t sg(sum_{s>=t} log(pi_s/ref_s))",
        "policy",
        kl_term("reward to go", "k1"),
    ),
    PublishedLoss(
        "k1 in each token's own advantage",
        _SCHULMAN,
        "sum_t log pi_t sg(log(pi_t/ref_t))",
        "policy",
        kl_term("own reward", "k1"),
    ),
    *(
        PublishedLoss(
            "corrected k3", _DEEPSEEK, "mean_t pi/old (r - 1 - log r), r = ref/pi", s, kl_term("ratio", "k3")
        )
        for s in ("policy", "old_policy")
    ),
    PublishedLoss(
        "k3 corrected by a sequence ratio",
        _TRL,
        "mean_t exp(mean_s log(pi_s/old_s)) (r_t - 1 - log r_t), r = ref/pi",
        "policy",
        kl_term("answer ratio", "k3"),
    ),
    PublishedLoss(
        "absolute log ratio", f"{_VERL} abs", "mean_t |log(pi/ref)|", "policy", kl_term("loss", "abs")
    ),
    PublishedLoss(
        "clamped k3",
        f"{_VERL} low_var_kl",
        "mean_t clip(r - 1 - log r, -10, 10), log r = clip(log(ref/pi), -20, 20)",
        "policy",
        kl_term("loss", "k3", inner=20, outer=10),
    ),
    PublishedLoss(
        "value of k3, gradient of k2",
        f"{_VERL} k3+",
        "mean_t (sg(clamped k3) + k2 - sg(k2))",
        "policy",
        kl_term("straight through", "k3", inner=20, outer=10),
    ),
)


def _pseudo_losses() -> tuple[PublishedLoss, ...]:
    log = "log pi(y) sg({}), u = pi(y)/ref(y)"
    return (
        PublishedLoss(
            "f-DPG forward KL",
            _FDPG,
            log.format("-1/u"),
            "policy",
            forms.pseudo_reward_loss(lambda x: -torch.exp(-x)),
        ),
        PublishedLoss(
            "f-DPG reverse KL",
            _FDPG,
            log.format("log u + 1"),
            "policy",
            forms.pseudo_reward_loss(lambda x: x + 1),
        ),
        PublishedLoss(
            "f-DPG JS",
            _FDPG,
            log.format("log(2u/(u+1))"),
            "policy",
            forms.pseudo_reward_loss(lambda x: math.log(2) - torch.logaddexp(-x, torch.zeros_like(x))),
        ),
    )


def _ours(divergence: FDivergence, gauge: str | float = "printed") -> Loss:
    """The rehearsal loss of this package."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return generator_loss(divergence, log_pi - log_ref, mask, gauge=gauge)

    return loss


def _rehearsal() -> tuple[PublishedLoss, ...]:
    """Each on correct samples of the reference, as rehearsed, and on all of them, as the theory has it."""
    half, alpha = alpha_divergence(0.5), "(u^(1-a) - (1-a) u - a) / (a(a-1))"
    js = "u log u - (u+1) log((u+1)/2)"
    published = (
        (
            "released forward",
            _released("sft_loss_mode forward"),
            "mean_t clip(u - 1 - log u, -10, 10), log u = clip(log(pi/ref), -20, 20)",
            forms.released_forward,
        ),
        (
            "released js",
            _released("sft_loss_mode js"),
            "mean_t clip(w - 1 - log w, -10, 10), log w = clip(log(m/ref), -20, 20), m = (pi+ref)/2",
            forms.released_half_js,
        ),
        (
            "released js_low_var",
            _released("sft_loss_mode js_low_var"),
            f"mean_t ({js}), u = pi/ref",
            forms.released_js,
        ),
        (
            "released alpha",
            _released("sft_loss_mode alpha, alpha_coeff 0.2"),
            f"mean_t {alpha}, u = pi/ref, a = 0.2",
            forms.released_alpha,
        ),
        ("forward KL, printed", _OURS, "mean_t -log u, u = pi/ref", _ours(FORWARD_KL)),
        (
            "forward KL, normalised",
            _OURS,
            "mean_t (u - 1 - log u), u = pi/ref",
            _ours(FORWARD_KL, "normalised"),
        ),
        ("JS", _OURS, f"mean_t ({js}), u = pi/ref", _ours(JENSEN_SHANNON)),
        ("alpha 0.5", _OURS, f"mean_t {alpha}, u = pi/ref, a = 0.5", _ours(half)),
    )
    return tuple(
        PublishedLoss(name, source, formula, samples, loss)
        for name, source, formula, loss in published
        for samples in ("filtered", "reference")
    )


CATALOGUE: tuple[PublishedLoss, ...] = (*_ON_POLICY_SAMPLES, *_pseudo_losses(), *_rehearsal())
"""Every form whose audit the docs show; sg holds its argument fixed, mean_t is over tokens."""
