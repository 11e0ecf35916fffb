"""Laws as next-token tables on a prefix tree, and what one reads from them.

Tables are a list: entry t has shape (*batch, V, ..., V) with t+1 trailing axes, the law of token t given
the t tokens before it. A verifier has shape (*batch, V, ..., V) with T = len(tables) trailing axes. With
an end symbol, what follows it counts for nothing: an ended answer is the one padded with the end symbol,
and it is that entry of the verifier which says whether it is valid.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..binary_reward import ExcessKL, excess_kl, filtered
from ..divergences import REVERSE_KL
from ..fdivergence import FDivergence
from ..numeric.arrays import Array, Scalars, booleans, distribution, positive
from ..numeric.balls import Values
from ..support.errors import argument_error
from ..tokens import flat, joint

Tables = Sequence[Array]
"""Next-token probabilities given each prefix, one table a position."""


class Tree(NamedTuple):
    """Tables, verifier and beta, checked and broadcast to one batch shape."""

    base: list[np.ndarray]
    valid: np.ndarray
    beta: np.ndarray

    @property
    def length(self) -> int:
        """The number of tokens of an answer."""
        return len(self.base)


def tree(base: Tables, valid: Array, end: int | None, beta: Scalars = 1.0) -> Tree:
    """The arguments that every law takes, checked; after the end symbol only the end symbol follows.

    Raises ValueError for tables that are no distributions, or for shapes that do not fit.
    """
    tables = next_token_tables("base", base, end)
    valid = _verifier(valid, tables)
    beta = positive("beta", beta)
    length = len(tables)
    shapes = [table.shape[: table.ndim - t - 1] for t, table in enumerate(tables)]
    try:
        batch = np.broadcast_shapes(*shapes, valid.shape[: valid.ndim - length], beta.shape)
    except ValueError:
        raise argument_error(
            "batch shapes", (*shapes, valid.shape, beta.shape), "base, valid and beta must broadcast"
        ) from None
    tokens = tables[0].shape[-1:]
    return Tree(
        [np.broadcast_to(table, batch + tokens * (t + 1)) for t, table in enumerate(tables)],
        np.broadcast_to(valid, batch + tokens * length),
        np.broadcast_to(beta, batch),
    )


def next_token_tables(name: str, tables: Tables, end: int | None) -> list[np.ndarray]:
    """The tables as float arrays, checked; after the end symbol only the end symbol follows."""
    if not len(tables):
        raise argument_error(name, tables, "needs a table for each token, at least one")
    checked = [distribution(f"{name}[{t}]", table) for t, table in enumerate(tables)]
    tokens = checked[0].shape[-1]
    if end is not None and not 0 <= end < tokens:
        raise argument_error("end", end, f"one of the {tokens} tokens, or None")
    for t, table in enumerate(checked):
        if table.ndim <= t or table.shape[table.ndim - t - 1 :] != (tokens,) * (t + 1):
            raise argument_error(f"{name}[{t}].shape", table.shape, f"must end in {t + 1} axes of {tokens}")
        if end is not None:
            checked[t] = np.where(_ended(tokens, t, end)[..., None], np.arange(tokens) == end, table)
    return checked


def _ended(tokens: int, length: int, end: int) -> np.ndarray:
    """Which prefixes of that length hold the end symbol."""
    ended = np.zeros((tokens,) * length, dtype=bool)
    for axis in range(length):
        ended[(slice(None),) * axis + (end,)] = True
    return ended


def _verifier(valid: Array, tables: list[np.ndarray]) -> np.ndarray:
    valid = booleans("valid", valid)
    tokens, length = tables[0].shape[-1], len(tables)
    if valid.ndim < length or valid.shape[valid.ndim - length :] != (tokens,) * length:
        raise argument_error("valid.shape", valid.shape, f"must end in {length} axes of {tokens}")
    return valid


def conditionals(answers: np.ndarray, length: int, otherwise: list[np.ndarray]) -> list[np.ndarray]:
    """The next-token tables of a law of answers; where a prefix has no mass, those of `otherwise`."""
    masses = [answers]
    for _ in range(length):
        masses.insert(0, masses[0].sum(axis=-1))
    return [
        np.where(mass[..., None] > 0, after / np.where(mass > 0, mass, 1.0)[..., None], other)
        for mass, after, other in zip(masses, masses[1:], otherwise, strict=False)
    ]


def answer_probabilities(tables: Tables, end: int | None = None) -> np.ndarray:
    """The probability of every answer, shape (*batch, V, ..., V); ended answers stand at their padded entry.

    Raises ValueError for tables that are no next-token laws.
    """
    return joint(next_token_tables("tables", tables, end))


def law_divergence(
    law: Tables, reference: Tables, divergence: FDivergence = REVERSE_KL, end: int | None = None
) -> Values:
    """D_f(law || reference) of whole answers, (*batch): by default KL(law || reference); inf where it is."""
    return divergence(_flat(law, end), _flat(reference, end))


def law_validity(law: Tables, valid: Array, end: int | None = None) -> Values:
    """The probability of a valid answer, (*batch)."""
    checked = tree(law, valid, end)
    axes = tuple(range(-checked.length, 0))
    return np.where(checked.valid, joint(checked.base), 0.0).sum(axis=axes)


def valid_answer_shares(law: Tables, valid: Array, end: int | None = None) -> np.ndarray:
    """P(answer | valid), shape (*batch, V, ..., V). Raises ValueError where no valid answer has mass."""
    checked = tree(law, valid, end)
    answers = joint(checked.base)
    return filtered(*(flat(a, checked.length) for a in (answers, checked.valid))).reshape(answers.shape)


def law_excess_kl(law: Tables, base: Tables, valid: Array, end: int | None = None) -> ExcessKL:
    """KL(law || base) in its parts, each (*batch): what validity had to cost, and the excess (theory A8)."""
    checked = tree(base, valid, end)
    flat_base, flat_valid = (flat(a, checked.length) for a in (joint(checked.base), checked.valid))
    return excess_kl(_flat(law, end), flat_base, flat_valid)


def _flat(tables: Tables, end: int | None) -> np.ndarray:
    return flat(answer_probabilities(tables, end), len(tables))
