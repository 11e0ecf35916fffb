"""Divergences between distributions over sequences, compared with sums over tokens.

A distribution over sequences is given by a list of next-token tables: entry t, of shape (..., symbols, ...,
symbols) with t + 1 such axes, is the distribution of a token given the t tokens before it. Shorter sequences
continue with a symbol of mass one. Source: li2025choice (the chain rule of forward KL); ours, entries
`rehearsal_gauge`, `tokens_and_sequences`.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from .fdivergence import FDivergence
from .numeric.arrays import Array, distribution
from .numeric.elementary import Values
from .support.errors import argument_error

Tables: TypeAlias = Sequence[Values]  # Next-token distributions, one table per position.


def joint(tokens: Tables) -> Values:
    """Distribution over sequences, (..., symbols, ..., symbols), with one axis per token."""
    masses = tokens[0]
    for table in tokens[1:]:
        masses = masses[..., None] * table
    return masses


def sequences(tokens: Tables) -> Values:
    """Distribution over sequences with all tokens joined to one axis, (..., symbols^length)."""
    return flat(joint(tokens), len(tokens))


def flat(values: Values, axes: int) -> Values:
    """Join the last `axes` axes to one."""
    return values.reshape(*values.shape[: values.ndim - axes], -1)


def checked_tables(name: str, tables: Sequence[Array]) -> list[Values]:
    """Check next-token tables, (..., V, ..., V) with t+1 symbol axes for token t, and return them."""
    if not isinstance(tables, Sequence | np.ndarray) or isinstance(tables, str) or not len(tables):
        raise argument_error(name, tables, "needs a table for each token, at least one")
    checked = [distribution(f"{name}[{t}]", table) for t, table in enumerate(tables)]
    symbols = checked[0].shape[-1]
    for t, table in enumerate(checked):
        if table.ndim <= t or table.shape[table.ndim - t - 1 :] != (symbols,) * (t + 1):
            raise argument_error(f"{name}[{t}].shape", table.shape, f"must end in {t + 1} axes of {symbols}")
    return checked


def _pair(
    divergence: FDivergence, pi_tokens: Tables, ref_tokens: Tables
) -> tuple[list[Values], list[Values]]:
    if not isinstance(divergence, FDivergence):
        raise argument_error("divergence", divergence, "an FDivergence, such as dph_theory.FORWARD_KL")
    pi, ref = checked_tables("pi_tokens", pi_tokens), checked_tables("ref_tokens", ref_tokens)
    if len(pi) != len(ref) or pi[0].shape[-1] != ref[0].shape[-1]:
        shapes = [[table.shape for table in tables] for tables in (pi, ref)]
        raise argument_error("pi_tokens", shapes[0], f"as many tables and symbols as ref_tokens, {shapes[1]}")
    return pi, ref


def sequence_divergence(divergence: FDivergence, pi_tokens: Tables, ref_tokens: Tables) -> Values:
    """Evaluate D_f between two distributions over sequences.

    Args:
        divergence: The f-divergence.
        pi_tokens: Next-token tables of the policy, shaped as in the module docstring.
        ref_tokens: Next-token tables of the reference, same shapes.

    Returns:
        D_f(pi || ref), shape (...).

    Raises:
        ValueError: If a table is not a next-token distribution or the shapes differ.
    """
    pi_tokens, ref_tokens = _pair(divergence, pi_tokens, ref_tokens)
    return divergence(sequences(pi_tokens), sequences(ref_tokens))


def token_divergence(divergence: FDivergence, pi_tokens: Tables, ref_tokens: Tables) -> Values:
    """Sum over tokens of D_f, each averaged over prefixes drawn from the reference.

    For the forward KL this equals `sequence_divergence`.

    Args:
        divergence: The f-divergence.
        pi_tokens: Next-token tables of the policy, shaped as in the module docstring.
        ref_tokens: Next-token tables of the reference, same shapes.

    Returns:
        The sum, shape (...).

    Raises:
        ValueError: As in `sequence_divergence`.
    """
    pi_tokens, ref_tokens = _pair(divergence, pi_tokens, ref_tokens)
    return _over_prefixes(divergence, pi_tokens, ref_tokens, ref_tokens)


def on_policy_token_divergence(divergence: FDivergence, pi_tokens: Tables, ref_tokens: Tables) -> Values:
    """Sum over tokens of D_f at prefixes of the policy; for reverse KL the divergence of sequences."""
    return _over_prefixes(divergence, pi_tokens, ref_tokens, pi_tokens)


def _over_prefixes(divergence: FDivergence, pi_tokens: Tables, ref_tokens: Tables, sampled: Tables) -> Values:
    total = divergence(pi_tokens[0], ref_tokens[0])
    for t in range(1, len(sampled)):
        each_prefix = flat(divergence(pi_tokens[t], ref_tokens[t]), t)
        total = total + mean(sequences(sampled[:t]), each_prefix)
    return total


def mean(weights: Values, values: Values) -> Values:
    """Mean (...) of values under weights, both (..., n); infinite values of weight 0 do not count."""
    with np.errstate(invalid="ignore"):
        return np.where(weights == 0, 0 * weights, weights * values).sum(axis=-1)
