"""Runs that ask which divisor of advantages retains Pass@k if the answers cannot be guessed.

A text has many correct words, and ten prompts that no policy can distinguish, each with a hidden set of
correct words. A uniform guess among the tokens passes about one time in ten thousand. The claims were written
before the runs; a run of seed 99 fixed the number of steps. Not covered: longer answers, other models.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from dph_theory.coverage import exact_pass_at_k
from dph_theory.support.table import Table

from ..claims import ABOVE, NEAR, Claim
from .advantages import DIVISORS, MEAN, SEEDS, STD, UNDIVIDED
from .claims import Course, Value
from .runs import HELD_OUT, WORDS, FinishedOpenRun, OpenRun, Outcomes, of_experiment, pass_at

TASK = "hidden words"
STEPS, K, KS = 40, 8, (1, 8, 32)
MARGIN = 0.01
"""Largest deficit in Pass@1 at which an earlier checkpoint counts as equal."""


def declared() -> list[OpenRun]:
    """Runs with each divisor of the advantage (DIVISORS) and no KL, all methods for each seed in turn."""
    return [_run(method, seed) for seed in range(SEEDS) for method in DIVISORS]


def _run(method: str, seed: int | None = None) -> OpenRun:
    return OpenRun(WORDS, (TASK,), method, steps=STEPS, seed=seed)


def _last(courses: Course, method: str, task: str) -> np.ndarray:
    """Pass rates (texts,) of a method's final policy on a task."""
    return np.array(courses[_run(method)].course[-1].tasks[task].pass_rate)


def _difference(method: str, other: str, k: int = K, task: str = TASK + HELD_OUT) -> Value:
    def value(courses: Course, base: Any) -> float:
        one, two = (exact_pass_at_k(_last(courses, name, task), k).mean() for name in (method, other))
        return float(one - two)

    return value


def _above_mixture(courses: Course, base: Any) -> float:
    """MaxRL's held-out Pass@k minus that of GRPO mixed with the base down to MaxRL's Pass@1; one seed."""
    task = TASK + HELD_OUT
    own, rival = _last(courses, MEAN, task), _last(courses, STD, task)
    start = np.array(courses[_run(STD)].course[0].tasks[task].pass_rate)
    weight = np.clip((rival.mean() - own.mean()) / (rival.mean() - start.mean()), 0, 1)
    mixed = rival + weight * (start - rival)
    return float((exact_pass_at_k(own, K) - exact_pass_at_k(mixed, K)).mean())


def _above_early_stopping(courses: Course, base: Any) -> float:
    """MaxRL's held-out Pass@k minus the best of GRPO's checkpoints with at least its Pass@1."""
    tasks, own = [TASK + HELD_OUT], courses[_run(MEAN)].course[-1].tasks
    points = [point.tasks for point in courses[_run(STD)].course]
    reached = [point for point in points if pass_at(point, tasks, 1) >= pass_at(own, tasks, 1) - MARGIN]
    reached = reached or [max(points, key=lambda point: pass_at(point, tasks, 1))]
    return pass_at(own, tasks, K) - max(pass_at(point, tasks, K) for point in reached)


_claim = partial(Claim, of_courses=True)
_SAME = "as much: what divides changes the speed alone"
CLAIMS = (
    _claim("words_mean_above_std", "retention", "after 40 steps on answers that cannot be guessed MaxRL has "
           "a higher held-out Pass@8 than GRPO", _SAME, _difference(MEAN, STD), ABOVE),
    _claim("words_mean_above_none", "retention", "and than Dr. GRPO", _SAME,
           _difference(MEAN, UNDIVIDED), ABOVE),
    _claim("words_std_above_none", "retention", "and GRPO than Dr. GRPO", _SAME,
           _difference(STD, UNDIVIDED), ABOVE),
    _claim("words_equal_pass_1", "retention", "and MaxRL's held-out Pass@1 is that of GRPO, within .05",
           "what retains more answers learns less", _difference(MEAN, STD, 1), NEAR),
    _claim("words_above_mixture", "retention",
           "MaxRL's held-out Pass@8 is above that of GRPO mixed with the base to MaxRL's Pass@1",
           "a mixture with the base does as well", _above_mixture, ABOVE),
    _claim("words_above_early_stopping", "retention",
           "MaxRL's held-out Pass@8 is above that of each of GRPO's checkpoints with its Pass@1",
           "early stopping does as well", _above_early_stopping, ABOVE),
    _claim("words_trained_mean_above_std", "retention", "on trained prompts too MaxRL has a higher Pass@8 "
           "than GRPO", _SAME, _difference(MEAN, STD, task=TASK), ABOVE),
    _claim("words_trained_std_above_none", "retention", "and GRPO than Dr. GRPO", _SAME,
           _difference(STD, UNDIVIDED, task=TASK), ABOVE),
)  # fmt: skip


def courses(outcomes: Outcomes) -> list[dict[str, Any]]:
    """Rows of the record: each run's Pass@k on trained and held-out prompts along training, k in KS."""
    return [
        {"method": outcome.run.method, "seed": outcome.run.seed}
        | {"steps": [point.step for point in outcome.course]}
        | {
            name: [[round(pass_at(point.tasks, [task], k), 5) for k in KS] for point in outcome.course]
            for name, task in (("trained", TASK), ("held_out", TASK + HELD_OUT))
        }
        for outcome in of_experiment(WORDS, outcomes)
    ]


def table(outcomes: Outcomes) -> Table:
    """Pass@k of each method after its last step, means over seeds, beside the base."""
    by_method: dict[str, list[FinishedOpenRun]] = {}
    for outcome in of_experiment(WORDS, outcomes):
        by_method.setdefault(outcome.run.method, []).append(outcome)
    rows = [_row("base", [finished[0]], 0) for finished in [*by_method.values()][:1]]
    rows += [_row(method, finished, -1) for method, finished in by_method.items()]
    heads = [f"{name} @{k}" for name in ("trained", "held out") for k in KS]
    return Table.from_rows(("hidden words", "seeds", *heads), rows)


def _row(name: str, finished: list[FinishedOpenRun], point: int) -> tuple[Any, ...]:
    tasks: list[Mapping[str, Any]] = [outcome.course[point].tasks for outcome in finished]
    rates = (
        np.mean([pass_at(at, [task], k) for at in tasks]) for task in (TASK, TASK + HELD_OUT) for k in KS
    )
    return (name, str(len(finished)), *(f"{rate:.3f}" for rate in rates))
