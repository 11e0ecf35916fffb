"""Check of a metric against its name, by exact values of pass@k, maj@k, pass^k and G-Pass@k.

A metric is a function of counts (n, c, k), of a matrix of zeros and ones (problems, n) and k, or of one
problem's list of them and k. It is unbiased exactly if its value at every c of n correct answers is the mean
over all choices of k of them.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from ..stationary.groups import success_weights
from ..support.errors import argument_error
from .report import AuditError, Finding, LossReport

Metric = Callable[..., Any]
SIZES_AND_KS = ((4, 4), (8, 4), (16, 4), (16, 8), (5, 2), (9, 3))
"""Numbers (n, k) of answers, and of those that the metric is asked about."""
RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
ROUNDING = 1e-9
CALLS, FEWEST, DRAWN = 100, 10, 2000
"""Calls of a metric that draws at random, over which its mean is taken; fewer for many orders at once."""
SPREAD_AT = (9, 3)
"""Numbers n and k at which a metric's variance is measured, at a pass rate of one half."""
WIDE = 1.05
"""Ratio of an unbiased metric's variance to the least one from which it is mentioned."""


_TAKEN = "(n, c, k), (matrix of 0 and 1, k) or (list of an answer's correctness, k)"


class MetricError(AuditError):
    """Raised when a metric cannot be audited; the message says why."""


def _value(metric: Metric, n: int, c: int, k: int, orders: np.ndarray | None = None) -> float:
    """Metric of one problem with c of n answers correct, a mean over their orders; or MetricError."""
    rows, form = _orders(n, c) if orders is None else orders, _form(metric)
    try:
        if form == "list":
            value = [metric([bool(x) for x in row], k) for row in rows]
        else:
            value = metric(n, c, k) if form == "counts" else metric(rows.copy(), k)
        mean = float(np.mean(np.asarray(value, dtype=float)))
    except Exception as error:
        what = f"{type(error).__name__} at n={n}, c={c}, k={k}: {error}"
        raise MetricError(f"the metric raised {what}") from error
    if not math.isfinite(mean):
        raise MetricError(f"the metric is not finite at n={n}, c={c}, k={k}")
    return mean


@cache
def _orders(n: int, c: int) -> np.ndarray:
    return np.array([[float(i in right) for i in range(n)] for right in combinations(range(n), c)])


def _tables(metric: Metric) -> tuple[dict[tuple[int, int], np.ndarray], float]:
    """Values (n+1,) for each (n, k) by correct count, and their tolerance; means if the metric is random."""

    def values(n: int, k: int) -> np.ndarray:
        return np.array([_value(metric, n, c, k) for c in range(n + 1)])

    first = values(*SIZES_AND_KS[-1])
    if all(np.array_equal(values(*SIZES_AND_KS[-1]), first) for _ in range(3)):
        return {(n, k): values(n, k) for n, k in SIZES_AND_KS}, ROUNDING
    means, error, form = {}, 0.0, _form(metric)
    for n, k in SIZES_AND_KS:
        drawn = []
        for c in range(n + 1):
            rows = 1 if form == "counts" else min(math.comb(n, c), DRAWN // FEWEST)
            calls = max(FEWEST, min(CALLS, DRAWN // rows))
            order = np.tile(np.arange(n) < c, (rows, 1)).astype(float)
            orders = np.random.Generator(np.random.PCG64(c)).permuted(order, axis=1)
            drawn.append([_value(metric, n, c, k, orders) for _ in range(calls)])
        means[n, k] = np.array([np.mean(values) for values in drawn])
        error = max(error, *(float(np.std(values)) / len(values) ** 0.5 for values in drawn))
    return means, 5 * error


def _edge(metric: Metric) -> str:
    """Sentence if the metric accepts k > n (4 incorrect answers, k = 8) with a value above 0; else empty."""
    n, c, k = 4, 0, 8
    try:
        value = _value(metric, n, c, k)
    except MetricError:
        return ""
    return f"k > n is not refused: {n} wrong answers give {value:.3f} at k = {k}" if value > 0 else ""


def _spread(metric: Metric) -> float:
    """Variance of a metric over that of the mean over all choices of k, at SPREAD_AT; 1 for counts."""
    if _form(metric) == "counts":
        return 1.0
    n, k = SPREAD_AT
    squares, means = np.zeros(n + 1), np.zeros(n + 1)
    for c in range(n + 1):
        values = np.array([_value(metric, n, c, k, row[None]) for row in _orders(n, c)])
        squares[c], means[c] = (values**2).mean(), values.mean()
    chances = success_weights(n, np.array(0.5))
    mean = chances @ means
    least = chances @ means**2 - mean**2
    return float((chances @ squares - mean**2) / least) if least > ROUNDING else 1.0


@cache
def _form(metric: Metric) -> str:
    """Arguments of a metric: "counts" (n, c, k), "matrix" (rows of 0/1, k) or "list" (one row, k)."""
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError) as error:
        raise argument_error("metric", metric, f"a function of {_TAKEN}") from error
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p.name for p in parameters if p.default is p.empty and p.kind not in rest]
    if len(required) not in (2, 3):
        raise MetricError(f"the metric takes ({', '.join(required)}): {_TAKEN} is needed")
    if len(required) == 3:
        return "counts"
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    # A metric of a matrix is a mean over its rows, and tells solved problems from unsolved ones.
    with suppress(Exception):
        alone = [float(np.mean(metric(row[None], 2))) for row in rows]
        together = float(np.mean(metric(rows.copy(), 2)))
        if alone[0] != alone[-1] and math.isclose(together, sum(alone) / len(rows), abs_tol=1e-9):
            return "matrix"
    with suppress(Exception):
        if all(math.isfinite(float(metric([bool(x) for x in row], 2))) for row in rows):
            return "list"
    return "matrix"


def _truths(k: int) -> Mapping[str, np.ndarray]:
    """Named metrics' values for exactly k answers, by the number of correct ones, each (k+1,)."""
    # mG-Pass@k, the mean of G-Pass@k over tau from 1/2 to 1, is 2/k times the sum over counts above k/2.
    right = np.arange(k + 1)
    return {
        "pass@k (best@k)": right > 0,
        "maj@k": _majority(k),
        "pass^k (all@k)": right == k,
        **{f"G-Pass@k with tau = {tau:g}": right >= tau * k - 1e-9 for tau in (0.25, 0.5, 0.75)},
        "mG-Pass@k": 2 / k * np.maximum(right - math.ceil(k / 2), 0),
        "the mean (pass@1)": right / k,
    }


@cache
def _choices(n: int, k: int) -> np.ndarray:
    """Probability of j correct among k answers drawn from n of which c are correct, (c = 0..n, j = 0..k)."""
    return np.asarray(stats.hypergeom.pmf(np.arange(k + 1), n, np.arange(n + 1)[:, None], k))


def _majority(n: int) -> np.ndarray:
    """Probability that the majority of n answers is correct, by their number correct, (n+1,); ties 1/2."""
    return np.heaviside(2 * np.arange(n + 1) - n, 0.5)


def _biased(n: int, k: int) -> Mapping[str, np.ndarray]:
    """Values (n+1,) by correct count of common estimators that differ from the unbiased ones, by name."""
    right = np.arange(n + 1) / n
    return {
        "pass@k of answers drawn with replacement (a bootstrap): 1 - (1 - c/n)^k": 1 - (1 - right) ** k,
        "maj@k of answers drawn with replacement (a bootstrap)": success_weights(k, right) @ _majority(k),
        "whether any of all n is correct (pass@n under the name pass@k)": right > 0,
        "the majority of all n answers": _majority(n),
        "(c/n)^k: pass^k of answers drawn with replacement": right**k,
        **{
            f"whether a share of {tau:g} is correct (Cover@tau of a benchmark's own answers)": right >= tau
            for tau in (0.25, 0.5, 0.75, 1.0)
        },
    }


@dataclass(frozen=True, repr=False)
class MetricReport(LossReport):
    """Findings about a metric.

    Attributes:
        metric, `verdict`: Name, and the answer in a sentence.
        estimates: Target that it estimates without bias at every p, n and k, or None.
        nearest, biases: Target of the least largest bias, and the biases.
        known_as: Estimator in circulation with exactly its values.
        example: Value for one correct answer of four at k = 4.
        within: Precision of the mean of a metric that draws at random, else None.
        spread: Its variance over that of the mean over all choices of k answers.
        edge: Sentence on k > n.
    """

    metric: str
    verdict: str
    estimates: str | None
    nearest: str
    biases: tuple[Finding, ...]
    known_as: str | None
    example: float
    within: float | None
    spread: float
    edge: str

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return (name, words) of the largest bias against the nearest target, for each n and k."""
        return tuple((f"bias at n = {bias.n}, k = {bias.k}", bias.words) for bias in self.biases)


def audit_metric(metric: Metric, *, name: str | None = None) -> MetricReport:
    """Find what a metric estimates, by exact binomial enumeration.

    Args:
        metric: Function of counts (n, c, k), of a matrix of zeros and ones (problems, n) and k, or of the
            list of one problem's answers, true if correct, and k; to a number.
        name: Name in the report.

    Raises:
        ValueError: If the function fails (MetricError) or is none.

    Example:
        >>> audit_metric(lambda n, c, k: c / n).estimates
        'the mean (pass@1)'
    """
    if not callable(metric):
        raise argument_error("metric", metric, f"a function of {_TAKEN}")
    name = name or str(getattr(metric, "__name__", "the metric"))
    metric = partial(
        metric
    )  # Objects that can be called need not be hashable; what is remembered of them must.
    tables, tolerance = _tables(metric)
    biases = {target: _biases(tables, target) for target in _truths(1)}
    largest = {target: max(abs(b) for at in biases[target] for b in at.bias) for target in biases}
    nearest = min(largest, key=largest.__getitem__)
    unbiased = largest[nearest] < tolerance
    estimators = [
        name
        for name in _biased(1, 1)
        if all(np.abs(_biased(n, k)[name] - values).max() < tolerance for (n, k), values in tables.items())
    ]
    draft = MetricReport(
        metric=name,
        verdict="",
        estimates=nearest if unbiased else None,
        nearest=nearest,
        biases=biases[nearest],
        known_as=None if unbiased else min(estimators, default=None),
        example=float(tables[4, 4][1]),
        within=None if tolerance == ROUNDING else tolerance,
        spread=_spread(metric),
        edge=_edge(metric),
    )
    return replace(draft, verdict=_verdict(draft))


def _biases(tables: Mapping[tuple[int, int], np.ndarray], target: str) -> tuple[Finding, ...]:
    """Findings, one per (n, k), on E[metric] minus the target at each pass rate of RATES."""
    biases = []
    for (n, k), values in tables.items():
        unbiased = _choices(n, k) @ _truths(k)[target]
        bias = success_weights(n, np.array(RATES)) @ (values - unbiased)
        words = f"{max(bias.tolist(), key=abs):+.3g}"
        biases.append(Finding(words, {"n": n, "k": k, "bias": tuple(bias.tolist())}))
    return tuple(biases)


DOMAIN = "p from 0.01 to 0.9, n from 4 to 16 and k from 2 to 8"
"""Words for SIZES_AND_KS and RATES."""


def _verdict(report: MetricReport) -> str:
    """Summary, such as: pass_at_k: an unbiased estimate of pass@k (best@k), tried at p from 0.01 to 0.9."""
    draws = [] if report.within is None else [f"it draws: the mean of its draws, within {report.within:.1g}"]
    edge = [report.edge] if report.edge else []
    if report.estimates is not None:
        wide = f"with {report.spread:.2g} times the variance of the mean over all choices of k"
        spread = [f"{wide} at n = {SPREAD_AT[0]}, k = {SPREAD_AT[1]}"] if report.spread > WIDE else []
        unbiased = f"{report.metric}: an unbiased estimate of {report.estimates}, tried at {DOMAIN}"
        return "; ".join([unbiased, *draws, *spread, *edge])
    biases = ((b, rate, at) for at in report.biases for rate, b in zip(RATES, at.bias, strict=True))
    off, rate, at = max(biases, key=lambda bias: abs(bias[0]))
    biased = f"BIASED, nearest {report.nearest}: off by {off:+.3g} at p = {rate:g}, n = {at.n}, k = {at.k}"
    estimator = [] if report.known_as is None else [f"it is {report.known_as}"]
    example = f"one correct answer of four at k = 4 gives {report.example:.3f}"
    return f"{report.metric}: {'; '.join([biased, *estimator, example, *draws, *edge])}"
