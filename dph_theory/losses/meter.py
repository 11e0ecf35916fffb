"""The collapse meter from samples: the KL of a policy beyond the least at its pass rate."""

from typing import NamedTuple

import torch
from torch import Tensor

from ..support.errors import argument_error
from .inputs import booleans, floats, same_shape


class ExcessKLEstimate(NamedTuple):
    """Per prompt, (prompts,), and their mean, each with its standard error; float64."""

    excess: Tensor
    standard_error: Tensor
    mean: Tensor
    mean_standard_error: Tensor


def excess_kl_estimate(
    rewards: Tensor, log_pi: Tensor, log_ref: Tensor, base_rates: Tensor, *, rate_samples: int | None = None
) -> ExcessKLEstimate:
    """KL(pi || ref) - kl(V || A1) of each prompt, from samples of the policy: the excess KL.

    The plug-in T = mean(log_pi - log_ref) - kl(mean(rewards) || base_rate) falls short by 1/(2 samples) or
    so, since kl is convex in the mean reward; the jackknife n T - (n-1) mean_i T_(-i) removes that order,
    and may be slightly negative where the excess is near 0. Where all rewards are equal the data show no such
    bias and T stands. The standard errors are the jackknife's, somewhat large for few samples; that of the
    mean takes the prompts as given and independent. base_rates count as known, unless `rate_samples` says of
    how many samples each is the posterior mean (c + 1/2)/(n + 1): kl is convex in the rate too, so that the
    cost is then 1/(2n) or so too high; its posterior variance rate (1 - rate)/(n + 2) corrects that to second
    order, and adds to the standard errors. rewards (0 or 1), sequence log-probabilities log_pi and log_ref
    (prompts, samples), base_rates (prompts,) in (0, 1); at least two samples.
    Raises ValueError for shapes that do not fit, integers as log-probabilities, other rewards or rates.
    Source: ours, entries `frontier`.
    """
    floats("log_pi", log_pi, ("prompts", "samples"))
    floats("log_ref", log_ref, ("prompts", "samples"))
    floats("base_rates", base_rates, ("prompts",))
    valid = booleans("rewards", rewards)
    same_shape(rewards=valid, log_pi=log_pi, log_ref=log_ref)
    prompts, n = valid.shape
    if base_rates.shape != (prompts,):
        allowed = f"({prompts},), one for each prompt"
        raise argument_error("base_rates.shape", tuple(base_rates.shape), allowed)
    if prompts == 0 or n < 2:
        raise argument_error("rewards.shape", (prompts, n), "at least one prompt and two samples")
    outside = ~((base_rates > 0) & (base_rates < 1))
    if outside.any():
        raise argument_error("base_rates", base_rates[outside][0].item(), "every rate must lie in (0, 1)")
    rates, log_ratio = base_rates.double(), log_pi.detach().double() - log_ref.detach().double()
    estimate = _jackknife(valid.double(), log_ratio, rates)
    if rate_samples is None:
        return estimate
    if rate_samples < 1:
        raise argument_error("rate_samples", rate_samples, "a whole number, at least 1")
    mean, variance = valid.double().mean(dim=1), rates * (1 - rates) / (rate_samples + 2)
    curvature = mean / rates**2 + (1 - mean) / (1 - rates) ** 2
    slope = (rates - mean) / (rates * (1 - rates))
    excess = estimate.excess + curvature * variance / 2
    error = (estimate.standard_error.square() + slope.square() * variance).sqrt()
    return ExcessKLEstimate(excess, error, excess.mean(), error.square().sum().sqrt() / len(rates))


def _jackknife(rewards: Tensor, log_ratio: Tensor, rate: Tensor) -> ExcessKLEstimate:
    n = rewards.shape[1]

    def without_each(values: Tensor) -> Tensor:
        return (values.sum(dim=1, keepdim=True) - values) / (n - 1)

    plug_in = log_ratio.mean(dim=1) - _bernoulli_kl(rewards.mean(dim=1), rate)
    parts = without_each(log_ratio) - _bernoulli_kl(without_each(rewards), rate[:, None])
    centre = parts.mean(dim=1, keepdim=True)
    excess = n * plug_in - (n - 1) * centre[:, 0]
    variance = (parts - centre).square().sum(dim=1) * (n - 1) / n
    return ExcessKLEstimate(excess, variance.sqrt(), excess.mean(), variance.sum().sqrt() / len(rate))


def _bernoulli_kl(mean: Tensor, rate: Tensor) -> Tensor:
    """kl(mean || rate), with 0 log 0 = 0."""
    return torch.xlogy(mean, mean / rate) + torch.xlogy(1 - mean, (1 - mean) / (1 - rate))
