"""The values of a metric at every count of right answers, and the expectations of the metrics it may be."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import stats

from ...numeric.arrays import Scalars, probability
from ...numeric.balls import Values

Metric = Callable[..., Any]


class MetricError(Exception):
    """A metric that cannot be audited, and why."""


def values(metric: Metric, n: int, k: int) -> np.ndarray:
    """The metric of one problem with n answers, c = 0 .. n of them right, (n+1,); MetricError if it fails."""
    by_count = len(_positional(metric)) == 3
    found = []
    for c in range(n + 1):
        row = (np.arange(n) < c).astype(float)[None]
        try:
            value = metric(n, c, k) if by_count else metric(row, k)
            found.append(float(np.mean(np.asarray(value, dtype=float))))
        except Exception as error:
            raise MetricError(f"it raised {type(error).__name__} at n={n}, c={c}, k={k}: {error}") from error
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found))[0])
        raise MetricError(f"it is not finite at n={n}, c={bad}, k={k}")
    return np.array(found)


def _positional(metric: Metric) -> list[str]:
    """The names of the metric's required parameters; MetricError unless (n, c, k) or (matrix, k)."""
    parameters = inspect.signature(metric).parameters.values()
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in rest]
    if len(required) not in (2, 3):
        raise MetricError(f"it takes ({', '.join(required)}): (n, c, k) or (matrix of 0 and 1, k) is needed")
    return required


def expectation(found: np.ndarray, p: Scalars) -> Values:
    """E[metric] over Binomial(n, p) counts, shape of p; `found` (n+1,) are the metric's values."""
    rate = probability("p", p)
    chances = stats.binom.pmf(np.arange(len(found)), len(found) - 1, rate[..., None])
    expected: Values = (chances * found).sum(axis=-1)
    return expected


def targets(k: int) -> Mapping[str, Callable[[np.ndarray], np.ndarray]]:
    """p -> what k answers, each right with probability p, have in truth.

    pass@k (also best@k of a zero-one score): some is right. maj@k: more are right than wrong, a tie counting
    half, as when all wrong answers agree. all@k: every one is right. mean: p.
    """
    return {
        "pass@k (best@k)": lambda p: 1 - (1 - p) ** k,
        "maj@k": lambda p: expectation(_majority(k), p),
        "all@k": lambda p: p**k,
        "the mean (pass@1)": lambda p: p,
    }


def _majority(n: int) -> np.ndarray:
    """Whether more of n answers are right than wrong, a tie counting half, by the number right, (n+1,)."""
    return np.heaviside(2 * np.arange(n + 1) - n, 0.5)


def known_estimators(n: int, k: int) -> Mapping[str, np.ndarray]:
    """The values (n+1,) of estimators in circulation that differ from the unbiased ones."""
    c = np.arange(n + 1)
    right = c / n
    drawn = 1 - (1 - right) ** k
    majority = stats.binom.sf(k // 2, k, right) + (
        0.5 * stats.binom.pmf(k // 2, k, right) if k % 2 == 0 else 0
    )
    return {
        "pass@k of answers drawn with replacement (a bootstrap): 1 - (1 - c/n)^k": drawn,
        "maj@k of answers drawn with replacement (a bootstrap)": majority,
        "whether any of all n is right (pass@n under the name pass@k)": (c > 0).astype(float),
        "the majority of all n answers": _majority(n),
        "(c/n)^k: all@k of answers drawn with replacement": right**k,
    }
