"""Two promises held along exact courses: the guarantee on the pass rate, and the collapse meter."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from dph_theory.improvement import rehearsal_guarantee
from dph_theory.meter import lead_time

from .record import FinishedRun, RunPoint

RISE, FALL = 0.1, 0.1
"""The meter warns at this excess KL above the first, in nats; Pass@16 fell when so far below its peak."""


@dataclass(frozen=True)
class Promise:
    """How loose the guarantee was along a run, and how early the meter."""

    digest: str
    guarantee: float
    """exp(-KL(p_* || pi)) at the end of the run: V is at least that (theory C4)."""
    loosest: float
    """The largest V - guarantee along the run; negative only by an error of measurement."""
    tightest: float
    """The least."""
    warned: int | None
    """The first step with an excess KL of RISE above the first; None: never."""
    fallen: int | None
    """The first step with Pass@16 at FALL below its highest so far; None: never."""


def promises(outcomes: Sequence[FinishedRun]) -> list[Promise]:
    """A `Promise` for each run that was measured on the way. Source: ours, theory A8 and C4."""
    return [_promise(outcome) for outcome in outcomes if outcome.run.every]


def _promise(outcome: FinishedRun) -> Promise:
    # The mean KL of several rows guarantees no more than each.
    slack = [fmean(point.exact.validity) - _guarantee(point) for point in outcome.course]
    times = lead_time(
        [point.step for point in outcome.course],
        [point.exact.excess_kl for point in outcome.course],
        [point.exact.pass_at_k[-1] for point in outcome.course],
        rise=RISE,
        fall=FALL,
    )
    return Promise(
        outcome.run.digest,
        _guarantee(outcome.last),
        max(slack),
        min(slack),
        times.meter_step,
        times.coverage_step,
    )


def _guarantee(point: RunPoint) -> float:
    return float(rehearsal_guarantee(max(point.exact.kl_from_filtered, 0.0)))
