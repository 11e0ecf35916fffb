"""Objective of a group-relative advantage: the weight that it gives the gradient of a prompt's pass rate.

With G answers to a prompt of pass rate V, the expected on-policy gradient of an advantage A that depends on
the rewards alone is alpha_G(V) grad V, where alpha_G(V) = E[A | v=1] - E[A | v=0] and the number of other
correct answers is Binomial(G-1, V). Rewards are 0 and 1; groups with equal rewards contribute nothing.
"""

import math
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from numbers import Integral
from types import MappingProxyType

import numpy as np
from scipy import special

from ..numeric.arrays import Scalars, is_number, probability, real, scalar
from ..numeric.elementary import Values, add_axes
from ..support.errors import argument_error, choice

FARTHEST_LOGIT = 36.0  # Beyond this |logit V| float64 rounds V to 0 or 1.

Spread = Callable[[np.ndarray, int], np.ndarray]
"""Maps (k, G) to the divisor of the centred rewards in a group with k correct answers, 0 < k < G."""

SCALES: Mapping[str, Spread] = MappingProxyType(
    {
        "none": lambda k, size: np.ones(k.shape),
        "leave_one_out": lambda k, size: np.full(k.shape, 1 - 1 / size),
        "std": lambda k, size: np.sqrt(k * (size - k) / (size * (size - 1))),
        "population_std": lambda k, size: np.sqrt(k * (size - k)) / size,
        "mean": lambda k, size: k / size,
    }
)
"""The advantage forms, each r minus the group's mean over a divisor: nothing ("none"); 1 - 1/G, which gives r
minus the mean of the others ("leave_one_out"); the sample std ("std", as in GRPO) or the population std
("population_std"); the mean ("mean", as in MaxRL).
"""


def group_weight(group_size: int, pass_rate: Scalars, scale: str = "std", *, epsilon: float = 0.0) -> Values:
    """Weight of a prompt's pass-rate gradient, alpha_G(V) = E[A | v=1] - E[A | v=0], exact.

    "none": 1 - 1/G; "leave_one_out": 1; "mean": (1 - (1-V)^(G-1))/V; "std": (G-1)/sqrt G at both ends, and
    constant in V for small groups, alpha_2 = 1/sqrt 2 and alpha_3 = 2/sqrt 3.

    Args:
        group_size: Answers per prompt G, at least 2.
        pass_rate: Pass rate V in [0, 1], any shape.
        scale: Divisor of the advantage, a key of `SCALES`.
        epsilon: Constant added to the divisor (TRL adds 1e-4 to the std).

    Returns:
        Weights, of the shape of `pass_rate`.

    Raises:
        ValueError: If the group is smaller than 2 or `scale` is unknown.

    Source: ours, entries `group_advantages`.
    """
    gains, pass_rate = _gains(group_size, scale, epsilon), probability("pass_rate", pass_rate)
    return (success_weights(group_size - 1, pass_rate) * gains).sum(axis=-1)


def group_weight_slope(group_size: int, pass_rate: Scalars, scale: str = "std") -> Values:
    """Derivative d alpha_G/dV, of the shape of `pass_rate`: G-1 times the mean difference of gains, exact."""
    rise = np.diff(_gains(group_size, scale, 0.0))
    chance = success_weights(group_size - 2, probability("pass_rate", pass_rate))
    return (group_size - 1) * (chance * rise).sum(axis=-1)


def group_objective(group_size: int, pass_rate: Scalars, scale: str = "std") -> Values:
    """Objective J_G(V) that the advantage maximises on a prompt: the integral of alpha_G from 0 to V.

    For "mean" (MaxRL) it is sum_{k=1}^{G-1} pass@k/k with pass@k = 1 - (1-V)^k. Arguments, shapes and errors
    are those of `group_weight`. Source: ours, entries `group_advantages`.
    """
    gains, pass_rate = _gains(group_size, scale, 0.0), probability("pass_rate", pass_rate)
    correct = np.arange(group_size)
    # The integral of a binomial probability is an incomplete beta function over G.
    parts = special.betainc(correct + 1, group_size - correct, add_axes(pass_rate, 1)) / group_size
    return (parts * gains).sum(axis=-1)


def mixed_share(group_size: int, pass_rate: Scalars) -> tuple[Values, Values]:
    """Probability that a group is mixed, given that it has a correct answer, and given an incorrect one.

    These are 1 - V^(G-1) and 1 - (1-V)^(G-1), each of the shape of `pass_rate`: the shares of correct and of
    incorrect answers whose KL is trained if groups with equal rewards are dropped. Raises ValueError for a
    group smaller than 2.

    >>> round(float(mixed_share(8, 0.99)[0]), 3)
    0.068

    Source: ours, entries `group_advantages`.
    """
    _gains(group_size, "none", 0.0)
    pass_rate = probability("pass_rate", pass_rate)
    trials = group_size - 1
    with np.errstate(divide="ignore"):
        return -np.expm1(trials * np.log(pass_rate)), -np.expm1(trials * np.log1p(-pass_rate))


def success_weights(trials: int, rate: Values) -> np.ndarray:
    """Binomial probabilities of 0 to `trials` successes, (..., trials + 1)."""
    # scipy.stats overflows at rates near 1e-308 and is slow to import.
    right, rate = np.arange(trials + 1), add_axes(rate, 1)
    if trials <= _MOST_TRIALS:
        return _binomials(trials) * rate**right * (1 - rate) ** (trials - right)
    log_binomials = -special.betaln(trials - right + 1, right + 1) - np.log(trials + 1)
    return np.exp(log_binomials + special.xlogy(right, rate) + special.xlog1py(trials - right, -rate))


@cache
def _binomials(trials: int) -> np.ndarray:
    return np.array([math.comb(trials, right) for right in range(trials + 1)], dtype=float)


LARGEST_GROUP = 1_000_000  # Largest group; the weight is a sum over all counts of correct answers.
_MOST_TRIALS = 500
"""Above this number of trials the binomial coefficients may overflow. Up to it, a power that underflows
belongs to a probability below 1e-100.
"""


def _gains(group_size: int, scale: str, epsilon: float) -> np.ndarray:
    """A(correct) - A(incorrect) when k = 0 .. G-1 of the other answers are correct, shape (G,)."""
    is_whole = is_number(group_size, Integral) and not isinstance(group_size, bool)
    if not is_whole or not 2 <= group_size <= LARGEST_GROUP:
        raise argument_error("group_size", group_size, f"a whole number from 2 to {LARGEST_GROUP:,}")
    choice("scale", scale, SCALES)
    return _gains_of(
        int(group_size), scale, scalar("epsilon", real("epsilon", epsilon, at_least=0, below=np.inf))
    )


@lru_cache(maxsize=8)
def _gains_of(group_size: int, scale: str, epsilon: float) -> np.ndarray:
    mixed = np.arange(1, group_size)
    spread = SCALES[scale](mixed, group_size) + epsilon
    # In a group of equal rewards r equals its mean, so all advantages are zero.
    valid, invalid = np.zeros(group_size), np.zeros(group_size)
    valid[:-1], invalid[1:] = (1 - mixed / group_size) / spread, -mixed / group_size / spread
    gains = valid - invalid
    gains.setflags(write=False)
    return gains
