"""Runs that ask which divisor of advantages retains the base's correct answers.

Runs are compared at equal trained Pass@1, which courses reach by linear interpolation between measured steps.
Not covered: more than 24 prompts; groups of other sizes, other tasks, KLs and rates; real answers, for which
see the study `sql`. First runs of another loop on the same prompts suggested the predictions (entries
`retention`).
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k

from ..claims import ABOVE, BELOW, NEAR, Claim
from .anchors import DIGITS
from .claims import Course, Value
from .runs import HELD_OUT, CoursePoint, FinishedOpenRun, OpenRun, Outcomes, of_experiment, pass_at

SEEDS, SEEDS_WITH_KL = 5, 3
UNDIVIDED, STD, MEAN = "Dr. GRPO", "GRPO", "MaxRL"
DIVISORS: Mapping[str, str] = {UNDIVIDED: "nothing", STD: "the group's std", MEAN: "the group's mean"}
"""Divisor of the advantage (the reward minus the group's mean), by method."""
MIDDLE, LATER, LAST = 0.45, 0.60, 0.75  # Trained Pass@1 at which runs are compared.
KS = (1, 16, 256)


def setting(method: str, **fields: Any) -> OpenRun:
    """GRPO-like run on digits with that method's advantage, without a seed."""
    return OpenRun("advantages", DIGITS, method, steps=24, **fields)


_k3 = partial(setting, kl="k3", coefficient=0.3)


def declared() -> list[OpenRun]:
    """Runs with each divisor of the advantage, without a KL and on fewer seeds with k3; by seed in turn."""
    return [
        replace(run(method), seed=seed)
        for seed in range(SEEDS)
        for run in ((setting, _k3) if seed < SEEDS_WITH_KL else (setting,))
        for method in DIVISORS
    ]


def held_out(outcome: FinishedOpenRun, k: int, first: float = MIDDLE) -> float:
    """Pass@k of held-out prompts when trained Pass@1 first reaches `first`, interpolated; else KeyError."""
    before, after, share = bracket(outcome, first)
    low, high = (pass_at(point.tasks, [outcome.run.tasks[0] + HELD_OUT], k) for point in (before, after))
    return low + share * (high - low)


def bracket(outcome: FinishedOpenRun, first: float = MIDDLE) -> tuple[CoursePoint, CoursePoint, float]:
    """Points of a course between which trained Pass@1 first reaches `first`, and the fraction between.

    KeyError if a run does not reach `first`.
    """
    learnt = [pass_at(point.tasks, outcome.run.tasks, 1) for point in outcome.course]
    after = next((i for i, rate in enumerate(learnt) if rate >= first), 0)
    if not after:
        raise KeyError(f"{outcome.run.id} does not pass through a trained Pass@1 of {first}")
    share = (first - learnt[after - 1]) / (learnt[after] - learnt[after - 1])
    return outcome.course[after - 1], outcome.course[after], share


def difference(run: OpenRun, other: OpenRun, k: int = 256, later: float = MIDDLE) -> Value:
    """Function of (courses, base): held-out Pass@k of `run` at trained Pass@1 `later`, minus `other`'s."""
    return lambda courses, base: held_out(courses[run], k, later) - held_out(courses[other], k)


def above_a_guess(run: OpenRun, other: OpenRun, guess: float = 0.1) -> Value:
    """Function of (courses, base): Pass@1 of `run` minus that of `other` mixed with a uniform guess.

    Both are held out; the mixture has the Pass@16 of `run`. `guess` is the pass rate of a uniform guess among
    all answers.
    """

    def value(courses: Course, base: Any) -> float:
        before, after, share = bracket(courses[other])
        sixteen, task = held_out(courses[run], 16), run.tasks[0] + HELD_OUT
        low, high = (np.minimum(point.tasks[task].pass_rate, 1.0) for point in (before, after))
        rates = low + share * (high - low)

        from scipy.optimize import brentq

        def excess(guesses: float) -> float:
            return float(exact_pass_at_k(rates + guesses * (guess - rates), 16).mean()) - sixteen

        guesses = brentq(excess, 0.0, 1.0) if excess(0.0) < 0 < excess(1.0) else float(excess(0.0) < 0)
        return held_out(courses[run], 1) - float((rates + guesses * (guess - rates)).mean())

    return value


_claim = partial(Claim, of_courses=True)
CLAIMS = (
    _claim("mean_above_std", "retention",
           "at a trained Pass@1 of .45 MaxRL retains more of held-out Pass@256 than GRPO, which divides "
           "by the std", "as much: what divides changes the speed alone",
           difference(setting(MEAN), setting(STD), 256), ABOVE),
    _claim("std_above_undivided", "retention", "and GRPO more than Dr. GRPO, which divides by nothing",
           "as much: without a KL one strategy stays, whatever divides",
           difference(setting(STD), setting(UNDIVIDED), 256), ABOVE),
    _claim("mean_costs_nothing", "retention", "and MaxRL's held-out Pass@1 is that of GRPO, within .05",
           "what retains more answers learns less", difference(setting(MEAN), setting(STD), 1), NEAR),
    _claim("mean_above_k3", "strategies",
           "MaxRL without a KL retains more of held-out Pass@256 than GRPO with k3 at .3",
           "a KL is needed", difference(setting(MEAN), _k3(STD), 256), ABOVE),
    _claim("not_early_stopping", "retention",
           "MaxRL at a trained Pass@1 of .60 retains more of held-out Pass@256 than GRPO at .45",
           "it is early stopping: Pass@256 falls as Pass@1 rises, by one curve",
           difference(setting(MEAN), setting(STD), 256, later=LATER), ABOVE),
    _claim("not_a_guess", "retention",
           "MaxRL's held-out Pass@1 is above that of GRPO mixed with a uniform guess to MaxRL's Pass@16",
           "its entropy is a guess: the mixture does as well",
           above_a_guess(setting(MEAN), setting(STD)), ABOVE),
    _claim("mean_with_k3", "strategies",
           "beside k3 at .3 too MaxRL retains more of held-out Pass@256 than GRPO",
           "with a KL the divisor does not matter", difference(_k3(MEAN), _k3(STD), 256), ABOVE),
    _claim("later_it_falls", "retention",
           "MaxRL retains less of held-out Pass@256 at a trained Pass@1 of .75 than at .45",
           "what it retains it retains for good",
           difference(setting(MEAN), setting(MEAN), 256, later=LAST), BELOW),
)  # fmt: skip  # Claims about advantages, each over the seeds.


def courses(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Each run by its fields, with Pass@k of trained and of held-out prompts along its course, k in KS."""
    rows = []
    for outcome in of_experiment("advantages", outcomes):
        run, task = outcome.run, outcome.run.tasks[0]
        fields = ("method", "kl", "coefficient", "seed")
        row: dict[str, Any] = {"task": task} | {name: getattr(run, name) for name in fields}
        row |= {"compared_at": MIDDLE, "steps": [point.step for point in outcome.course]}
        for name, of_kind in (("trained", task), ("held_out", task + HELD_OUT)):
            curves = [[pass_at(point.tasks, [of_kind], k) for k in KS] for point in outcome.course]
            row[name] = np.round(curves, 5).tolist()
        rows.append(row)
    return rows
