"""The excess KL of a run over the validity-KL frontier, prompt by prompt, from samples (theory A8)."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats

from dph_theory import kappa
from dph_theory.losses import excess_kl_estimate

from .measurements import Measured
from .verdicts import Estimate, mean


@dataclass(frozen=True)
class Frontier:
    """KL(pi || a), the least kl(V || A1), the excess and the meter's standard error, each (prompts,)."""

    kl: Float[np.ndarray, " prompts"]
    cost: Float[np.ndarray, " prompts"]
    excess: Float[np.ndarray, " prompts"]
    standard_error: Float[np.ndarray, " prompts"]
    bias: float
    """How far the mean excess may fall short by the meter's bias at this many samples."""

    @property
    def mean_excess(self) -> Estimate:
        """The mean over prompts; its standard error is the spread over prompts."""
        return mean(self.excess, bias=self.bias)


def frontier(measured: Measured) -> Frontier:
    """The excess KL of every prompt: the collapse meter at base rates that were themselves sampled.

    log A1 and log A0 enter the cost. From c of n base samples log((c + 1/2)/(n + 1/2)) estimates log A1 with
    bias O(1/n^2), and too high where A1 n is below one or so: the excess then errs upwards, and no violation
    is made up. The meter takes one rate, (c + 1/2)/(n + 1): both logs are off by the constant that is added
    back. Source of the estimator: Haldane (1956) and Anscombe (1956), for the empirical logit.
    """
    n = measured.base_correct.shape[1]
    rates = measured.smoothed_base_rate
    meter = excess_kl_estimate(
        torch.from_numpy(measured.correct),
        torch.from_numpy(measured.log_pi),
        torch.from_numpy(measured.log_ref),
        torch.from_numpy(rates),
    )
    excess = meter.excess.numpy() + math.log((n + 1) / (n + 0.5))
    kl = measured.log_ratio.mean(axis=1)
    bias = meter_bias(measured.correct.shape[1])
    return Frontier(kl, kl - excess, excess, meter.standard_error.numpy(), bias)


def least_cost(measured: Measured, level: float) -> Float[np.ndarray, " prompts"]:
    """The least kl(V || A1) of each prompt over the confidence intervals of V and A1, at the given level.

    The intervals are exact (Clopper and Pearson, 1934), so that prompts whose samples all agree, or that the
    base hardly ever solves, make up no violation. kl grows with the distance of V from A1: the least is at
    the ends that face each other, and 0 where the intervals meet.
    """
    low, high = _interval(measured.correct, level)
    base_low, base_high = _interval(measured.base_correct, level)
    near, far = np.where(low > base_high, low, high), np.where(low > base_high, base_high, base_low)
    apart = (low > base_high) | (high < base_low)
    return np.where(apart, kappa(np.where(apart, near, 0.5), np.where(apart, far, 0.5)), 0.0)


def _interval(correct: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    count, n = correct.sum(axis=1), correct.shape[1]
    low = np.where(count > 0, stats.beta.ppf(level / 2, np.maximum(count, 1), n - count + 1), 0.0)
    high = np.where(count < n, stats.beta.isf(level / 2, count + 1, np.maximum(n - count, 1)), 1.0)
    return low, high


@lru_cache
def meter_bias(samples: int) -> float:
    """The largest shortfall of the collapse meter's expectation at that many samples, over all validities.

    Only the entropy of V in kl(V || A1) is estimated with a bias. It is summed exactly over the counts c of
    correct samples (V on a grid of quantiles that is fine near 0, where the shortfall peaks at V ~ 1/n).
    """
    count = np.arange(samples + 1)
    correct = torch.from_numpy(np.arange(samples) < count[:, None])
    zero = torch.zeros(correct.shape, dtype=torch.float64)
    half = torch.full((samples + 1,), 0.5, dtype=torch.float64)
    estimated = -excess_kl_estimate(correct, zero, zero, half).excess.numpy()
    rate = np.geomspace(1e-3 / samples, 0.5, 400)
    expected = stats.binom.pmf(count, samples, rate[:, None]) @ estimated
    return max(0.0, float((expected - kappa(rate, 0.5)).max()))
