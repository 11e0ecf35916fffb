"""Losses that no catalogue has, with what each descends by hand, or None where that is nothing known."""

from collections.abc import Callable
from dataclasses import dataclass

REWARD, ENTROPY = "minus expected reward", "entropy(pi)"
REVERSE, FORWARD = "reverse KL(pi||ref)", "forward KL(ref||pi)"


@dataclass(frozen=True)
class Unseen:
    """A loss, its samples, and the terms of what it descends on single outcomes."""

    loss: Callable
    samples: str
    terms: dict[str, float] | None


def cubed(log_pi, log_ref):
    return ((log_pi - log_ref) ** 3 / 3).mean()


def cross_entropy(log_pi, log_ref):
    """E_pi[-log ref] = KL(pi||ref) + H(pi)."""
    return -(log_ref * log_pi).mean()


def imitation(log_pi):
    return -log_pi.mean()


def square_on_reference(log_pi, log_ref):
    """f' = log u / u is no declared generator's."""
    return ((log_pi - log_ref) ** 2 / 2).mean()


def bare_log_probability(log_pi):
    return log_pi.mean()


def three_terms(log_pi, log_ref, advantages):
    x = log_pi - log_ref
    return (-log_pi * advantages + 0.1 * x**2 / 2 + 0.02 * log_pi * log_pi.detach()).mean()


def ratio_times_its_log(log_pi, log_ref):
    x = log_pi - log_ref
    return (x.exp() * x).mean()


def squared_ratio(log_pi, log_ref):
    return ((2 * (log_pi - log_ref)).exp() / 2).mean()


def root_of_ratio(log_pi, log_ref):
    return (-4 * ((log_pi - log_ref) / 2).exp()).mean()


def power_of_ratio(log_pi, log_ref):
    return ((0.3 * (log_pi - log_ref)).exp() / (0.7 * -0.3)).mean()


def squared_mean(log_pi, log_ref):
    """It couples the batch: 2/B of the reverse KL."""
    return (log_pi - log_ref).mean() ** 2


def bent(log_pi, log_ref):
    return ((log_pi - log_ref) / 3).tanh().mean()


UNSEEN = (
    Unseen(cubed, "policy", None),
    Unseen(cross_entropy, "policy", {REVERSE: 1, ENTROPY: 1}),
    Unseen(imitation, "reference", {FORWARD: 1}),
    Unseen(square_on_reference, "reference", None),
    Unseen(bare_log_probability, "policy", {}),
    Unseen(three_terms, "policy", {REWARD: 1, REVERSE: 0.1, ENTROPY: -0.02}),
    Unseen(ratio_times_its_log, "reference", {REVERSE: 1}),
    Unseen(squared_ratio, "reference", {"chi-squared(pi||ref)": 0.5}),
    Unseen(root_of_ratio, "reference", {"alpha-divergence 0.5": 1}),
    Unseen(power_of_ratio, "reference", None),
    Unseen(squared_mean, "policy", {REVERSE: 1}),
    Unseen(bent, "policy", None),
)
