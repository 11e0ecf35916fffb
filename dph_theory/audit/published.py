"""The KL terms in circulation as published; their rows, with the sources, stand in losses/published.txt."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .. import losses
from ..divergences import FORWARD_KL, JENSEN_SHANNON, alpha_divergence
from ..losses.generator import Loss
from ..losses.kl_terms import rows, term_from
from ..losses.reductions import clear


@dataclass(frozen=True)
class PublishedLoss:
    """One loss as published, on the samples it is used with; `source` is a paper key or a public code."""

    title: str
    source: str
    formula: str
    samples: str
    loss: Loss


def _pseudo_reward_loss(slope: Callable[[Tensor], Tensor]) -> Loss:
    """Loss with pseudo-reward `slope(x)` = -f', x the whole answer's log(pi/ref). Source: go2023fdpg."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        total, of_ref = (clear(values, mask > 0, values.dtype).sum(dim=-1) for values in (log_pi, log_ref))
        x = (total - of_ref).detach()
        return (total * slope(x)).mean()

    return loss


_SLOPES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "forward KL": lambda x: -torch.exp(-x),
    "reverse KL": lambda x: x + 1,
    "JS": lambda x: math.log(2) - torch.logaddexp(-x, torch.zeros_like(x)),
}
"""f'(e^x) of the divergences of f-DPG."""
_REHEARSED = {"forward KL": FORWARD_KL, "JS": JENSEN_SHANNON, "alpha 0.5": alpha_divergence(0.5)}


_LOSSES: Mapping[str, Callable[..., Loss]] = {
    "KL term": lambda place, form: term_from(("", "", "", ""), place, form).loss,
    "f-DPG": lambda divergence: _pseudo_reward_loss(_SLOPES[divergence]),
    "released": lambda function: getattr(losses, function),
    "rehearsal": lambda divergence, gauge: (
        lambda log_pi, log_ref, mask: losses.generator_loss(
            _REHEARSED[divergence], log_pi - log_ref, mask, gauge=gauge
        )
    ),
}
"""By kind, what makes a loss of its last columns."""
CATALOGUE: tuple[PublishedLoss, ...] = tuple(
    PublishedLoss(title, source, formula, samples, _LOSSES[kind](*arguments))
    for (source, all_samples, kind, title), (formula, *arguments), _ in rows("published.txt")
    for samples in all_samples.split()
)
"""Every form whose audit the docs show, in the order of published.txt."""
