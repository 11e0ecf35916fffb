"""Aggregates over seeds and tasks: interquartile mean, stratified bootstrap, improvement, profiles.

Scores have shape (seeds, tasks). Source of all: Agarwal et al., *Deep RL at the Edge of the Statistical
Precipice*, NeurIPS 2021 (the package rliable).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy import stats

from .intervals import Interval
from .numeric.arrays import Array, finite, numbers, rate
from .support.errors import argument_error

Aggregate = Callable[..., float]
"""A number from one table of scores, or from several."""


def interquartile_mean(scores: Array) -> float:
    """The mean of the middle half of all seeds' scores on all tasks; ValueError for no scores."""
    return float(stats.trim_mean(_table("scores", scores), 0.25, axis=None))


def probability_of_improvement(scores: Array, other: Array) -> float:
    """P(a seed of `scores` beats one of `other` on a task), mean over tasks; ties count one half.

    Tables of equally many tasks, else ValueError.
    """
    x, y = _table("scores", scores), _table("other", other)
    if x.shape[1] != y.shape[1]:
        raise argument_error("other.shape", y.shape, f"as many tasks as scores: {x.shape[1]}")
    gap = x[:, None, :] - y[None, :, :]
    return float(((gap > 0) + 0.5 * (gap == 0)).mean())


def performance_profile(scores: Array, levels: Array) -> Float[np.ndarray, " levels"]:
    """The share of seeds and tasks with a score above each level, (levels,)."""
    table, at = _table("scores", scores), numbers("levels", levels)
    if at.ndim != 1:
        raise argument_error("levels.shape", at.shape, "one axis of levels")
    return (table[..., None] > at).mean(axis=(0, 1))


def stratified_interval(
    aggregate: Aggregate,
    *tables: Array,
    rng: np.random.Generator,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Interval:
    """An aggregate with its percentile interval from seeds drawn anew, with replacement, within each task.

    Tasks are kept as they are: the interval is over the seeds of these tasks. It is too narrow for three
    seeds or fewer. Raises ValueError for fewer than two draws, or a confidence outside (0, 1).
    """
    level = float(rate("confidence", confidence))
    if draws < 2:
        raise argument_error("draws", draws, "at least two")
    given = [_table(f"tables[{i}]", table) for i, table in enumerate(tables)]
    found = [aggregate(*(_drawn(table, rng) for table in given)) for _ in range(draws)]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Interval(np.asarray(aggregate(*given)), low, high)


def _drawn(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.take_along_axis(table, rng.integers(len(table), size=table.shape), axis=0)


def _table(name: str, value: Array) -> np.ndarray:
    found = finite(name, value)
    if found.ndim != 2 or found.size == 0:
        raise argument_error(f"{name}.shape", found.shape, "(seeds, tasks), at least one of each")
    return found
