"""The laws of training that counts are held to: the pass rate after training as a function of that before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np
from scipy.special import expit

from ..laws import group_weight
from ..laws.normalised import FARTHEST_LOGIT

_POINTS = 4001
_GREATEST_PUSH = 600.0

BaseRate = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(mu, 1-mu, s) -> (A1, 1-A1), the base rate from which mu is stationary: f'(mu/A1) - f'((1-mu)/A0) = s."""


def _reverse(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log odds move by s."""
    log_odds = np.log(mu) - np.log(failed) - push
    return expit(log_odds), expit(-log_odds)


def _forward(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """-A1/mu + A0/(1-mu) = s is linear in A1."""
    return mu * (1 - failed * push), failed * (1 + mu * push)


def _jensen_shannon(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f'(u) = log 2u/(1+u): mu (A0+1-mu) = e^s (1-mu) (A1+mu) is linear in A1."""
    rise = np.expm1(push)
    total = mu + failed * np.exp(push)
    return mu * (1 - failed * rise) / total, failed * (np.exp(push) + mu * rise) / total


def _half(mu: np.ndarray, failed: np.ndarray, push: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """alpha = 1/2: sqrt(A0/(1-mu)) - sqrt(A1/mu) = s/2, with A1 = sin^2 of an angle."""
    angle = np.arccos(np.minimum(push / 2 * np.sqrt(mu * failed), 1)) - np.arctan2(
        np.sqrt(failed), np.sqrt(mu)
    )
    return np.where(angle > 0, np.sin(angle) ** 2, -1.0), np.cos(angle) ** 2


BASE_RATES: Mapping[str, BaseRate] = MappingProxyType(
    {"reverse KL": _reverse, "forward KL": _forward, "Jensen-Shannon": _jensen_shannon, "alpha 0.5": _half}
)


@dataclass(frozen=True)
class Law:
    """A law by name: `rates(before, beta)` are the pass rates it leads to; base rates 0 and 1 stay."""

    name: str
    rates: Callable[[np.ndarray, float], np.ndarray]
    has_beta: bool = True


NO_CHANGE = Law("no change", lambda before, beta: before, has_beta=False)
"""What every law is held against: the run has the base's rates."""


def laws(group_size: int) -> tuple[Law, ...]:
    """The laws of one decision: of each divergence, E1 and E2 (in which they agree), and E4.

    E4 is for advantages divided by the deviation of a group. Of whole answers under a penalty of the sequence
    they hold too; answers of many tokens under a token penalty end less valid (theory E2).
    """
    plain = (Law(f"{name}, advantages not divided", partial(_rates, name, None)) for name in BASE_RATES)
    words = f"advantages divided (groups of {group_size})"
    divided = (Law(f"{name}, {words}", partial(_rates, name, group_size)) for name in BASE_RATES)
    return *plain, *divided


@cache
def _weights(group_size: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """logit mu, mu, 1 - mu and alpha_G(mu) on a fine grid; without a group the weight is one."""
    # Denser in the middle, where a step of the log odds is a step of the rate.
    log_odds = FARTHEST_LOGIT * np.sinh(np.linspace(-4, 4, _POINTS)) / np.sinh(4)
    mu, failed = expit(log_odds), expit(-log_odds)
    return log_odds, mu, failed, np.ones(_POINTS) if group_size is None else group_weight(group_size, mu)


def _rates(divergence: str, group_size: int | None, before: np.ndarray, beta: float) -> np.ndarray:
    """The validity that a run reaches from its base, by the inverse law.

    The base rate from which mu is stationary is explicit and lies below mu, so that validity rises from a
    base rate to the first mu whose base rate is as high: the inverse of its running maximum, read off on a
    fine grid (to .001 where the law leaves zero, else to 1e-5). `laws.validity_at` and
    `laws.normalised_validity_at` find the same by roots. Source: ours, theory E1 and E4.
    """
    log_odds, mu, failed, weight = _weights(group_size)
    base, rest = BASE_RATES[divergence](mu, failed, np.minimum(weight / beta, _GREATEST_PUSH))
    # As angles, in which the law is smooth both near a rate of zero and where it leaves zero.
    angle = np.where(base > 0, np.arctan2(np.sqrt(base.clip(0)), np.sqrt(rest)), -1.0)
    wanted = np.arctan2(np.sqrt(before), np.sqrt(1 - before))
    reached = np.interp(wanted, np.maximum.accumulate(angle), log_odds)
    return np.where((before > 0) & (before < 1), expit(reached), before)
