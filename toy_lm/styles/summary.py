"""Summaries of the runs: means over seeds with intervals, and the leads of the collapse meter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dph_theory.intervals import Interval, mean_interval, probability_interval
from dph_theory.meter import LeadTime, Warnings, lead_time

from .results import End, Results, Run, Split

FALL = 0.05
"""How far Pass@16 on the training prompts must fall from its highest to count as fallen."""
RISES = (0.1, 0.25, 0.5)
"""How far the excess KL must rise, in nats, to count as a warning."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """Means over seeds with 95% intervals (`dph_theory.intervals`); None where no seed has the measure."""

    pass_at_1: Interval
    pass_at_16: Interval
    pass_at_256: Interval
    style_entropy: Interval
    distinct_styles: Interval
    excess: Interval
    retention: Interval | None
    exploration: Interval | None


def scores(results: Results, split: Split) -> dict[str, Score]:
    """The methods of the comparison by label, the base first."""
    return {label: _score(results, ends) for label, ends in results.ends(split).items()}


def warnings(results: Results) -> list[Warnings]:
    """The meter at each of RISES, run by run of the comparison: when it warned and when Pass@16 fell."""
    return [Warnings(rise, tuple(_lead(run, rise) for run in results.of_group("main"))) for rise in RISES]


def _score(results: Results, ends: Sequence[End]) -> Score:
    def passed(k: int) -> Interval:
        return probability_interval([results.pass_at(end, k) for end in ends])

    return Score(
        pass_at_1=passed(1),
        pass_at_16=passed(16),
        pass_at_256=passed(256),
        style_entropy=mean_interval([end.style_entropy for end in ends]),
        distinct_styles=mean_interval([end.distinct_styles for end in ends]),
        excess=mean_interval([end.excess for end in ends]),
        retention=_known(end.retention for end in ends),
        exploration=_known(end.exploration for end in ends),
    )


def _known(shares: Iterable[float | None]) -> Interval | None:
    """Over the seeds that have such prompts."""
    known = [share for share in shares if share is not None]
    return probability_interval(known) if known else None


def _lead(run: Run, rise: float) -> LeadTime:
    curve = run.curve
    return lead_time(
        np.array(curve.update), np.array(curve.excess), np.array(curve.pass_at_16), rise=rise, fall=FALL
    )
