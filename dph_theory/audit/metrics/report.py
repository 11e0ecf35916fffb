"""What an audit of a metric finds, and its verdict in one line."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from .enumeration import Metric, expectation, known_estimators, targets, values

SAMPLES = ((4, 4), (8, 4), (16, 4), (16, 8), (5, 2), (9, 3))
"""(n, k): so many answers, of which the metric is asked about k."""
RATES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
EXACT = 1e-9


@dataclass(frozen=True)
class Bias:
    """E[metric] less the target at each of RATES, with n answers and k."""

    n: int
    k: int
    bias: tuple[float, ...]


@dataclass(frozen=True)
class MetricReport:
    """Everything found about a metric.

    `estimates` is what it estimates without bias at every p, n and k, or None; `nearest` the target whose
    largest bias is least, with `biases` against it; `known_as` names an estimator in circulation with exactly
    its values; `example` is its value for one right answer of four at k = 4.
    """

    metric: str
    verdict: str
    estimates: str | None
    nearest: str
    biases: tuple[Bias, ...]
    known_as: str | None
    example: float

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def audit_metric(metric: Metric, *, name: str | None = None) -> MetricReport:
    """What a metric estimates, by exact binomial enumeration; MetricError for a function that fails."""
    tables = {(n, k): values(metric, n, k) for n, k in SAMPLES}
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
        {name for name, other in known_estimators(n, k).items() if np.abs(other - found).max() < EXACT}
        for (n, k), found in tables.items()
    ]
    shared = sorted(set.intersection(*known))
    draft = MetricReport(
        metric=name or str(getattr(metric, "__name__", "the metric")),
        verdict="",
        estimates=nearest if worst[nearest] < EXACT else None,
        nearest=nearest,
        biases=tuple(biases[nearest]),
        known_as=shared[0] if shared and worst[nearest] >= EXACT else None,
        example=float(tables[4, 4][1]),
    )
    return replace(draft, verdict=verdict_line(draft))


def verdict_line(report: MetricReport) -> str:
    """Such as: pass_at_k: an unbiased estimate of pass@k (best@k) at every p, n and k tried."""
    if report.estimates is not None:
        return f"{report.metric}: an unbiased estimate of {report.estimates} at every p, n and k tried"
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
