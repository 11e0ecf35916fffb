"""Inputs of the claims about pretrained runs: ends and courses by seed, compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k

from ..claims import Claim, ClaimVerdict, judge, over_seeds
from .runs import COURSES, HELD_OUT, FinishedOpenRun, OpenRun, Outcomes, Policy, of_experiment

Ends = Mapping[OpenRun, Policy]  # Ends of one seed's runs, by setting.
Anchors = Mapping[str, Sequence[int]]  # Texts that are anchored to the base, by run.
Course = Mapping[OpenRun, FinishedOpenRun]  # One seed's runs with their whole courses, by setting.
Value = Callable[[Any, Policy], float]
"""Maps a seed's ends, or courses, and the base to a value; KeyError if a required run is not finished."""


def ends_by_seed(outcomes: Outcomes, anchors: Anchors) -> dict[int, Ends]:
    """Final policies of sampled runs by seed, then setting; pass rates of a run's own anchors are NaN.

    Runs whose anchors are unknown are left out.
    """
    by_seed: dict[int, dict[OpenRun, Policy]] = {}
    for outcome in outcomes:
        run, policy = outcome.run, {**outcome.course[-1].tasks}
        if run.seed is None or (run.anchors and run.id not in anchors):
            continue
        if run.anchors:
            task = run.tasks[0] + HELD_OUT
            rates = np.array(policy[task].pass_rate)
            rates[[*anchors[run.id]]] = np.nan
            policy[task] = replace(policy[task], pass_rate=tuple(rates.tolist()))
        by_seed.setdefault(run.seed, {})[run.setting] = policy
    return {**by_seed}


def judged(claims: Sequence[Claim], outcomes: Outcomes, anchors: Anchors) -> dict[str, ClaimVerdict]:
    """Claims by name over the seeds that have all required runs; claims without such a seed are left out."""
    base: Policy = next((outcome.course[0].tasks for outcome in of_experiment("methods", outcomes)), {})
    ends, courses = ends_by_seed(outcomes, anchors), dict[int, dict[OpenRun, FinishedOpenRun]]()
    for outcome in of_experiment(COURSES, outcomes):
        courses.setdefault(outcome.run.seed or 0, {})[outcome.run.setting] = outcome
    values = {claim: over_seeds(claim.value, courses if claim.of_courses else ends, base) for claim in claims}
    return {claim.name: judge(claim, of_claim) for claim, of_claim in values.items() if of_claim}


def middle_heights(*curves: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Middle x of the range that curves of (x, y) share beyond their first points, and each y there."""
    spans = [[first for first, _ in curve[1:]] for curve in curves]
    first = (max(map(min, spans)) + min(map(max, spans))) / 2
    return first, *(float(np.interp(first, *np.array(sorted(curve)).T)) for curve in curves)


def common_pass_at(policy: Policy, other: Policy, task: str, k: int) -> tuple[float, float]:
    """Mean Pass@k of two policies over a task's texts, without texts that either anchors to the base."""
    rates = np.array([policy[task].pass_rate, other[task].pass_rate])
    free = np.minimum(rates[:, ~np.isnan(rates).any(axis=0)], 1.0)
    one, two = exact_pass_at_k(free, np.asarray(k)).mean(axis=1).tolist()
    return one, two
