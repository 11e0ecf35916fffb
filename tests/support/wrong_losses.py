"""Wrong losses of the kinds that people write, with what their authors believe, and two that add up."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"


@dataclass(frozen=True)
class Planted:
    """A wrong loss, the samples it is used on, and the divergence its author means."""

    loss: Callable
    samples: str
    meant: str


def mean(values, mask):
    return (values * mask).sum() / mask.sum()


def swapped_direction(log_pi, log_ref, mask):
    """k3 with pi and ref exchanged, on policy samples."""
    x = log_pi - log_ref
    return mean(x.exp() - 1 - x, mask)


def squared_without_half(log_pi, log_ref, mask):
    return mean((log_pi - log_ref) ** 2, mask)


def half_of_js(log_pi, log_ref, mask):
    """KL(ref || m) alone."""
    u = (log_pi - log_ref).exp()
    return mean(-((u + 1) / 2).log(), mask)


def missing_detach(log_pi, log_ref, mask):
    """k1 in the reward, which is differentiated too."""
    cost = ((log_pi - log_ref) * mask).sum(dim=-1, keepdim=True)
    return (log_pi * cost * mask).sum(dim=-1).mean()


def wrong_gauge_sign(log_pi, log_ref, mask):
    """u log u + (u - 1), where the normalised gauge subtracts."""
    x = log_pi - log_ref
    return mean(x * x.exp() + torch.expm1(x), mask)


def advantage_inside(log_pi, log_ref, advantages, mask):
    x = log_ref - log_pi
    return mean(advantages * (x.exp() - 1 - x), mask)


def inverted_ratio(log_pi, log_ref, log_old, mask):
    """Corrected k3 with pi_old/pi."""
    x = log_ref - log_pi
    return mean((log_old - log_pi).exp() * (x.exp() - 1 - x), mask)


def detached_ratio(log_pi, log_ref, log_old, mask):
    """Corrected k3 whose ratio is held fixed."""
    x = log_ref - log_pi
    return mean((log_pi - log_old).exp().detach() * (x.exp() - 1 - x), mask)


def detached_gradient(log_pi, log_ref, mask):
    """The right value, attached to the graph with a zero."""
    return mean((log_pi - log_ref).detach() + 0 * log_pi, mask)


def without_gradient(log_pi, log_ref, mask):
    """The right value, computed under no_grad."""
    with torch.no_grad():
        return mean(log_pi - log_ref, mask)


def flipped_sign(log_pi, log_ref, mask):
    return -mean((log_pi - log_ref) ** 2 / 2, mask)


def old_for_reference(log_pi, log_old, mask):
    return mean((log_pi - log_old) ** 2 / 2, mask)


def hidden_clamp(log_pi, log_ref, mask):
    return mean((log_pi - log_ref).clamp(-0.5, 0.5) ** 2 / 2, mask)


def sum_for_mean(log_pi, log_ref, mask):
    return ((log_pi - log_ref) ** 2 / 2 * mask).sum()


def mask_not_in_denominator(log_pi, log_ref, mask):
    return ((log_pi - log_ref) ** 2 / 2 * mask).mean()


def cost_so_far(log_pi, log_ref, mask):
    """k1 in the reward with each token charged for the past instead of the future."""
    cost = ((log_pi - log_ref) * mask).detach().cumsum(-1)
    return (log_pi * cost * mask).sum(dim=-1).mean()


def base_two(log_pi, log_ref, mask):
    return mean((log_ref - log_pi) / math.log(2), mask)


def normalised_on_correct(log_pi, log_ref, mask):
    """k3 on correct samples, meant to imitate them."""
    x = log_pi - log_ref
    return mean(x.exp() - 1 - x, mask)


PLANTED = (
    Planted(swapped_direction, "policy", REVERSE),
    Planted(squared_without_half, "policy", REVERSE),
    Planted(half_of_js, "reference", "JS generator (twice the JS divergence)"),
    Planted(missing_detach, "policy", REVERSE),
    Planted(wrong_gauge_sign, "filtered", REVERSE),
    Planted(advantage_inside, "policy", REVERSE),
    Planted(inverted_ratio, "policy", REVERSE),
    Planted(detached_ratio, "policy", REVERSE),
    Planted(detached_gradient, "policy", REVERSE),
    Planted(without_gradient, "policy", REVERSE),
    Planted(flipped_sign, "policy", REVERSE),
    Planted(old_for_reference, "policy", REVERSE),
    Planted(hidden_clamp, "policy", REVERSE),
    Planted(sum_for_mean, "policy", REVERSE),
    Planted(cost_so_far, "policy", REVERSE),
    Planted(base_two, "reference", FORWARD),
    Planted(normalised_on_correct, "filtered", "forward KL(p_*||pi)"),
)


def three_terms(log_pi, log_ref, advantages):
    x = log_pi - log_ref
    return (-log_pi * advantages + 0.1 * x**2 / 2 + 0.02 * log_pi * log_pi.detach()).mean()


def squared_mean(log_pi, log_ref):
    """It couples the batch: 2/B of the reverse KL."""
    return (log_pi - log_ref).mean() ** 2
