"""The cells of a method, each computed: what it selects, its drift, its way back, and who gains."""

from collections.abc import Callable, Sequence
from functools import cache, partial

import numpy as np

from ..methods.repairs import REPAIRS, Repair
from ..numeric.balls import Values
from ..support.processes import in_order
from .problems import EQUAL, LENGTHS, OTHER, TWO, UNEQUAL, Problem, distance
from .table import Row
from .training import UnsettledError, expected, flow, gradient, luck

SMALL, REFERENCE = 0.02, 0.1
"""Knobs: the one that stands for zero, and the one at which the training is looked at on its way."""
SAME = 0.05
"""Two starts end alike if the right answers' shares are that near, in total variation."""
LOST = (1e-3, 1e-5)
"""Shares of a nearly lost answer, between which the power of its way back is taken."""


def row_of(method: Repair, *, seed: int = 0) -> Row:
    """The cells of a method."""
    small, reference = (SMALL, REFERENCE) if method.knob else (0.0, 0.0)
    single, several = (_end(method, problem, small) for problem in (UNEQUAL, LENGTHS))
    other = _end(method, UNEQUAL, small, start=_reversed())
    at_reference = _end(method, UNEQUAL, reference) if method.knob else single
    words, power = way_back(method, reference)
    long = LENGTHS.tokens.lengths[LENGTHS.verdicts > 0] > 1
    return Row(
        method=method.name,
        source=method.source,
        read=method.read,
        note=method.note,
        selects=_named(LENGTHS, several),
        selects_single=_named(UNEQUAL, single),
        fixed=None if single is None or other is None else _alike(single, other),
        drift=_relative_drift(method, reference, seed),
        way_back=words,
        way_back_power=power,
        wrong=_gain(UNEQUAL, at_reference, lambda found: 1 - UNEQUAL.validity(found)),
        rare=_gain(UNEQUAL, single, lambda found: UNEQUAL.shares(found)[-1]),
        long=_gain(LENGTHS, several, lambda found: LENGTHS.shares(found)[long].sum()),
    )


def _end(method: Repair, problem: Problem, knob: float, start: np.ndarray | None = None) -> np.ndarray | None:
    try:
        return flow(method, problem, knob, start=start)[1]
    except UnsettledError:
        return None


def _named(problem: Problem, end: np.ndarray | None) -> str:
    return OTHER if end is None else problem.named(problem.shares(end))


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return distance(UNEQUAL.shares(one), UNEQUAL.shares(other)) <= SAME


def _reversed() -> np.ndarray:
    """The base with its right answers' logits in the other order."""
    right = UNEQUAL.verdicts > 0
    start = UNEQUAL.start.copy()
    start[right] = start[right][::-1]
    return start


def _gain(problem: Problem, end: np.ndarray | None, measure: Callable[[np.ndarray], Values]) -> float | None:
    return None if end is None else float(measure(end)) / float(measure(problem.start))


@cache
def _grpo_drift(seed: int) -> float:
    return luck(REPAIRS[0], EQUAL, 0.0, seed=seed)


def _relative_drift(method: Repair, knob: float, seed: int) -> float | None:
    try:
        return luck(method, EQUAL, knob, seed=seed) / _grpo_drift(seed)
    except UnsettledError:
        return None


def way_back(method: Repair, knob: float) -> tuple[str, float | None]:
    """How an answer of share eps among two right ones comes back, in words, and the power of eps in its pull.

    As at the end of a training every answer is right. The pull is that on the log ratio of the two (theory
    E7); "undrawn" says that it is there too in batches that lack the answer.
    """
    pulls = [_pull(method, knob, share) for share in LOST]
    if min(pulls) <= 1e-6 * LOST[1]:
        return "none", None
    power = float(np.log(pulls[0] / pulls[1]) / np.log(LOST[0] / LOST[1]))
    undrawn = _pull(method, knob, LOST[1], without=True) > 0.5 * pulls[1]
    speed = "quick" if power < 0.25 else "slow" if power > 0.65 else "between"
    return f"{speed}, {'undrawn' if undrawn else 'if drawn'}", power


def _pull(method: Repair, knob: float, share: float, *, without: bool = False) -> float:
    """On log(lost/kept), at the expected update, or on batches of the kept answer alone."""
    theta = np.log([share, 1 - share])
    samples = expected(TWO, theta)
    if without:
        samples = samples._replace(weights=1.0 * (samples.answers == 1).all(axis=-1))
    found = gradient(method, TWO, theta, samples, knob)
    return float(found[0] - found[1])


def atlas(
    methods: Sequence[Repair] = REPAIRS, *, seed: int = 0, on_row: Callable[[Row], None] | None = None
) -> list[Row]:
    """The rows of methods of REPAIRS, in order, by two processes; `on_row` is called as each ends."""
    names = [method.name for method in methods]
    if len(names) == 1:  # Another process would take longer to start.
        rows = [_row_named(names[0], seed)]
        if on_row is not None:
            on_row(rows[0])
        return rows
    return in_order(partial(_row_named, seed=seed), names, on_result=on_row)


def _row_named(name: str, seed: int) -> Row:
    return row_of(next(method for method in REPAIRS if method.name == name), seed=seed)
