"""KL terms in circulation as losses, each re-stated from its published formula, its clamps included.

Tensors are (batch, tokens); a loss is the mean over the tokens that count unless it says otherwise. All
keep the numerics of what they re-state: what overflows there overflows here.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ..fdivergence import FDivergence
from ..losses.generator import generator_loss
from . import kl_terms as terms
from .kl_terms import Loss, kept, sequence_sum, token_mean


def _clamped_k3(log_p: Tensor, log_q: Tensor) -> Tensor:
    """q/p - 1 - log(q/p) with log(q/p) clamped to +-20 and the result to +-10."""
    log_r = (log_q - log_p).clamp(-20.0, 20.0)
    return (torch.exp(log_r) - log_r - 1).clamp(-10.0, 10.0)


k1 = terms.plain(terms.k1)
"""log(pi/ref)."""
k2 = terms.plain(terms.k2)
"""log(pi/ref)^2 / 2."""
k3 = terms.plain(terms.k3)
"""With r = ref/pi: r - 1 - log r."""
absolute = terms.plain(terms.absolute)
"""|log(pi/ref)|."""
clamped_k3 = terms.plain(_clamped_k3)
"""k3 with log(ref/pi) clamped to +-20 and the result to +-10."""
straight_through_k3 = terms.straight_through(_clamped_k3)
"""The value of the clamped k3 with the gradient of k2."""
corrected_k3 = terms.weighted(terms.k3)
"""k3 times the token's importance ratio pi/pi_old, both differentiated."""
k1_in_return = terms.in_reward(terms.k1)
"""Policy gradient with each token's advantage the whole sequence's sum of -k1; summed over tokens."""


def k1_to_go(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """Policy gradient with each token's advantage the sum of -k1 from it on; summed over tokens."""
    cost = kept((log_pi - log_ref).detach(), mask)
    return sequence_sum(log_pi * cost.flip(-1).cumsum(-1).flip(-1), mask)


def k1_own_token(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """Policy gradient with each token's advantage its own -k1 alone; summed over tokens."""
    return sequence_sum(log_pi * (log_pi - log_ref).detach(), mask)


def sequence_corrected_k3(log_pi: Tensor, log_ref: Tensor, log_old: Tensor, mask: Tensor) -> Tensor:
    """k3 times one ratio a sequence, exp of the mean of log(pi/pi_old) over its tokens."""
    log_ratio = kept(log_pi - log_old, mask).sum(dim=-1, keepdim=True) / mask.sum(dim=-1, keepdim=True)
    return token_mean(torch.exp(log_ratio) * terms.k3(log_pi, log_ref), mask)


def pseudo_loss(slope: Callable[[Tensor], Tensor]) -> Loss:
    """Policy gradient with the pseudo-reward -f'(pi/p) of the whole sequence, held fixed; p the reference.

    slope: x = log(pi/p) -> f'(e^x). Mean over sequences, no division by their lengths.
    """

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        total = kept(log_pi, mask).sum(dim=-1)
        x = (total - kept(log_ref, mask).sum(dim=-1)).detach()
        return (total * slope(x)).mean()

    return loss


def released_forward(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The clamped k3 with the policy and the reference exchanged: u - 1 - log u, u = pi/ref."""
    return token_mean(_clamped_k3(log_ref, log_pi), mask)


def released_half_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """The clamped k3 for KL(ref || M) with M = (pi+ref)/2: one of the two halves of JS."""
    log_mixture = torch.log((torch.exp(log_ref) + torch.exp(log_pi)) / 2)
    return token_mean(_clamped_k3(log_ref, log_mixture), mask)


def released_js(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """With u = pi/ref: u log u - (u+1) log((u+1)/2), where u log u is the product of u and log of u."""
    u = torch.exp(log_pi - log_ref)
    return token_mean(u * torch.log(u) - (u + 1) * torch.log((u + 1) / 2), mask)


def released_alpha(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
    """(u^(1-a) - (1-a) u - a) / (a (a-1)) at a = 0.2, through the power of u."""
    u, alpha = torch.exp(log_pi - log_ref), 0.2
    return token_mean((u ** (1 - alpha) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1)), mask)


def ours(divergence: FDivergence, gauge: str | float = "printed") -> Loss:
    """The rehearsal loss of this package, `generator_loss`, in the given gauge."""

    def loss(log_pi: Tensor, log_ref: Tensor, mask: Tensor) -> Tensor:
        return generator_loss(divergence, log_pi - log_ref, mask, gauge=gauge)

    return loss
