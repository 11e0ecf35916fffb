"""Whether a metric is what its name says: exact expectations, against pass@k, maj@k, pass^k, G-Pass@k.

A metric is a function of counts (n, c, k), or of a matrix of zeros and ones (problems, n) and k. With n
answers, each right with probability p, its expectation is summed over all Binomial(n, p) counts.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ..laws.groups import success_weights
from ..numeric.arrays import Scalars, probability
from ..numeric.balls import Values
from .report import LossReport

Metric = Callable[..., Any]


class MetricError(Exception):
    """A metric that cannot be audited, and why."""


def values(metric: Metric, n: int, k: int) -> np.ndarray:
    """The metric of one problem with n answers, c = 0 .. n of them right, (n+1,); MetricError if it fails.

    Of a matrix: the mean over all orders of the answers, a row each.
    """
    by_count = len(_positional(metric)) == 3
    found = []
    for c in range(n + 1):
        try:
            value = metric(n, c, k) if by_count else metric(_orders(n, c).copy(), k)
            found.append(float(np.mean(np.asarray(value, dtype=float))))
        except Exception as error:
            raise MetricError(f"it raised {type(error).__name__} at n={n}, c={c}, k={k}: {error}") from error
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found))[0])
        raise MetricError(f"it is not finite at n={n}, c={bad}, k={k}")
    return np.array(found)


@cache
def _orders(n: int, c: int) -> np.ndarray:
    """Every order of n answers c of which are right, (orders, n), zeros and ones."""
    places = np.array(list(combinations(range(n), c)), dtype=int).reshape(math.comb(n, c), c)
    found = np.zeros((len(places), n))
    np.put_along_axis(found, places, 1.0, axis=1)
    return found


def _tables(metric: Metric) -> tuple[dict[tuple[int, int], np.ndarray], float]:
    """The values at each of SAMPLES, and how far they may be off: of a metric that draws, a mean of CALLS."""
    tables = {(n, k): values(metric, n, k) for n, k in SAMPLES}
    n, k = SAMPLES[-1]
    if all(np.array_equal(values(metric, n, k), tables[n, k]) for _ in range(3)):
        return tables, EXACT
    drawn = {(n, k): np.array([values(metric, n, k) for _ in range(CALLS)]) for n, k in SAMPLES}
    error = max(float(each.std(axis=0).max()) for each in drawn.values()) / CALLS**0.5
    return {key: each.mean(axis=0) for key, each in drawn.items()}, 5 * error


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
    expected: Values = (success_weights(len(found) - 1, rate) * found).sum(axis=-1)
    return expected


def targets(k: int) -> Mapping[str, Callable[[np.ndarray], np.ndarray]]:
    """p -> what k answers, each right with probability p, have in truth.

    pass@k (also best@k of a zero-one score): some is right. maj@k: more are right than wrong, a tie counting
    half, as when all wrong answers agree. pass^k (all@k): every one is right. G-Pass@k: at least tau k are
    right; its mean over tau from 1/2 to 1, the sum over counts above k/2 times 2/k. mean: p.
    """

    def at_least(count: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda p: expectation(np.arange(k + 1) >= count - 1e-9, p)

    return {
        "pass@k (best@k)": lambda p: 1 - (1 - p) ** k,
        "maj@k": lambda p: expectation(_majority(k), p),
        "pass^k (all@k)": lambda p: p**k,
        **{f"G-Pass@k with tau = {tau:g}": at_least(tau * k) for tau in (0.25, 0.5, 0.75)},
        "mG-Pass@k": lambda p: 2 / k * sum(at_least(i)(p) for i in range(math.ceil(k / 2) + 1, k + 1)),
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
    return {
        "pass@k of answers drawn with replacement (a bootstrap): 1 - (1 - c/n)^k": drawn,
        "maj@k of answers drawn with replacement (a bootstrap)": expectation(_majority(k), right),
        "whether any of all n is right (pass@n under the name pass@k)": (c > 0).astype(float),
        "the majority of all n answers": _majority(n),
        "(c/n)^k: pass^k of answers drawn with replacement": right**k,
        **{
            f"whether a share of {tau:g} is right (Cover@tau of a benchmark's own answers)": right >= tau
            for tau in (0.25, 0.5, 0.75, 1.0)
        },
    }


SAMPLES = ((4, 4), (8, 4), (16, 4), (16, 8), (5, 2), (9, 3))
"""(n, k): so many answers, of which the metric is asked about k."""
RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
EXACT = 1e-9
CALLS = 100
"""Of a metric that draws at random, whose mean over them is asked."""


@dataclass(frozen=True)
class Bias:
    """E[metric] less the target at each of RATES, with n answers and k."""

    n: int
    k: int
    bias: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class MetricReport(LossReport):
    """Everything found about a metric.

    `estimates` is what it estimates without bias at every p, n and k, or None; `nearest` the target whose
    largest bias is least, with `biases` against it; `known_as` names an estimator in circulation with exactly
    its values; `example` is its value for one right answer of four at k = 4; `within` says how precisely the
    mean of a metric that draws at random is known here, None for one that does not.
    """

    metric: str
    verdict: str
    estimates: str | None
    nearest: str
    biases: tuple[Bias, ...]
    known_as: str | None
    example: float
    within: float | None

    def rows(self) -> Sequence[tuple[str, str]]:
        """The largest bias against the nearest target, for each number of answers and k."""
        return tuple((f"bias at n = {b.n}, k = {b.k}", f"{max(b.bias, key=abs):+.3g}") for b in self.biases)


def audit_metric(metric: Metric, *, name: str | None = None) -> MetricReport:
    """What a metric estimates, by exact binomial enumeration.

    Parameters: `metric`, a function of counts (n, c, k), or of a matrix of zeros and ones (problems, n) and
    k, to a number. Returns a MetricReport. Raises MetricError for a function that fails. Source: ours.

    >>> audit_metric(lambda n, c, k: c / n).estimates
    'the mean (pass@1)'
    """
    tables, tolerance = _tables(metric)
    rates = np.array(RATES)
    biases = {
        target: [
            Bias(n, k, tuple(map(float, expectation(found, rates) - targets(k)[target](rates))))
            for (n, k), found in tables.items()
        ]
        for target in targets(1)
    }
    worst = {target: max(np.abs(b.bias).max() for b in each) for target, each in biases.items()}
    nearest = min(worst, key=lambda target: worst[target])
    # Estimators that agree at every n and k.
    known = [
        {name for name, other in known_estimators(n, k).items() if np.abs(other - found).max() < tolerance}
        for (n, k), found in tables.items()
    ]
    shared = sorted(set.intersection(*known))
    draft = MetricReport(
        metric=name or str(getattr(metric, "__name__", "the metric")),
        verdict="",
        estimates=nearest if worst[nearest] < tolerance else None,
        nearest=nearest,
        biases=tuple(biases[nearest]),
        known_as=shared[0] if shared and worst[nearest] >= tolerance else None,
        example=float(tables[4, 4][1]),
        within=None if tolerance == EXACT else tolerance,
    )
    return replace(draft, verdict=verdict_line(draft))


def verdict_line(report: MetricReport) -> str:
    """Such as: pass_at_k: an unbiased estimate of pass@k (best@k) at every p, n and k tried."""
    if report.estimates is not None:
        said = "" if report.within is None else f", within {report.within:.1g}: it draws at random"
        return f"{report.metric}: an unbiased estimate of {report.estimates} at every p, n and k tried{said}"
    worst = max(report.biases, key=lambda b: max(map(abs, b.bias)))
    place = int(np.abs(worst.bias).argmax())
    parts = [
        f"BIASED, nearest {report.nearest}: off by {worst.bias[place]:+.3g} at p = {RATES[place]:g}, "
        f"n = {worst.n}, k = {worst.k}"
    ]
    if report.known_as is not None:
        parts.append(f"it is {report.known_as}")
    parts.append(f"one right answer of four at k = 4 gives {report.example:.3f}")
    return f"{report.metric}: {'; '.join(parts)}"
