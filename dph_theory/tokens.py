"""Divergences and losses of sequences against sums over tokens, for sequences of two tokens.

A law of sequences is the first token's, (..., symbols), and the second's given the first, (..., symbols,
symbols). Two tokens show every effect: longer sequences follow by taking the prefix for the first token.
Source: li2025choice (the chain rule of forward KL); ours, theory B3 and B5.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from .binary_reward import filtered
from .divergences import each
from .estimators import ratio_where
from .fdivergence import FDivergence
from .numeric.balls import Values

RatioLoss: TypeAlias = Callable[[Values], Values]
"""A loss of the ratio u = pi/base at samples from the base."""


def sequences(first: Values, second: Values) -> Values:
    """The law of both tokens, (..., symbols) and (..., symbols, symbols) to (..., symbols^2)."""
    law = first[..., None] * second
    return law.reshape(*law.shape[:-2], -1)


def sequence_divergence(
    divergence: FDivergence, pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> Values:
    """D_f of the two laws of sequences, shape (...)."""
    return divergence(sequences(pi_first, pi_second), sequences(ref_first, ref_second))


def token_divergence(
    divergence: FDivergence, pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> Values:
    """The first token's D_f plus E_{x ~ ref} of the second's given x; for forward KL the sequences' own."""
    later = _mean(ref_first, divergence(pi_second, ref_second))
    return divergence(pi_first, ref_first) + later


def on_policy_token_divergence(
    divergence: FDivergence, pi_first: Values, pi_second: Values, ref_first: Values, ref_second: Values
) -> Values:
    """The same with prefixes x sampled from the policy; for reverse KL the sequences' own."""
    later = _mean(pi_first, divergence(pi_second, ref_second))
    return divergence(pi_first, ref_first) + later


def independent(first: Values, second: Values) -> Values:
    """The law of two independent tokens, two (..., symbols) to (..., symbols^2)."""
    return sequences(first, second[..., None, :])


def independent_divergences(
    divergences: Sequence[FDivergence],
    pi_first: Values,
    pi_second: Values,
    ref_first: Values,
    ref_second: Values,
) -> Values:
    """Each D_f of the two laws of sequences of independent tokens, (..., divergences)."""
    pi, ref = independent(pi_first, pi_second), independent(ref_first, ref_second)
    return each(lambda divergence: divergence(pi, ref), divergences)


def summed_divergences(
    divergences: Sequence[FDivergence],
    pi_first: Values,
    pi_second: Values,
    ref_first: Values,
    ref_second: Values,
) -> Values:
    """The sum over two independent tokens of each D_f, (..., divergences)."""
    first = each(lambda divergence: divergence(pi_first, ref_first), divergences)
    return first + each(lambda divergence: divergence(pi_second, ref_second), divergences)


def filtered_token_loss(
    loss: RatioLoss,
    pi_first: Values,
    pi_second: Values,
    base_first: Values,
    base_second: Values,
    valid: Values,
) -> Values:
    """E_{p_*} sum_t loss(u_t), u_t = pi(y_t | y_<t)/a(y_t | y_<t): correct sequences, token by token.

    valid (..., symbols^2) marks the correct sequences; shape (...).
    """
    correct = valid.reshape(base_second.shape)
    # Tokens of no correct sequence have no weight; a ratio of one there keeps every policy finite.
    first = ratio_where(np.any(correct, axis=-1), pi_first, base_first)
    second = ratio_where(correct, pi_second, base_second)
    target = filtered(sequences(base_first, base_second), valid)
    with np.errstate(divide="ignore"):
        losses = loss(first)[..., None] + loss(second)
    return _mean(target, losses.reshape(target.shape))


def _mean(law: Values, values: Values) -> Values:
    """The mean over the last axis, in which infinite values without mass do not count."""
    with np.errstate(invalid="ignore"):
        return np.where(law == 0, 0 * law, law * values).sum(axis=-1)


def success_and_failure(first: Values, second: Values, reward: Values) -> Values:
    """(J, 1-J) for rewards (..., symbols^2) in [0, 1], each summed on its own: none loses digits near 0."""
    law = sequences(first, second)
    return np.stack([(law * reward).sum(axis=-1), (law * (1 - reward)).sum(axis=-1)], axis=-1)
