"""A row of the atlas, each cell computed: what a method converges to, its drift, recovery, and who gains."""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

import numpy as np

from ..numeric.elementary import Values
from ..support.processes import in_order
from ..support.table import Cell, Table
from .problems import BASE, EQUAL, FILTERED, LENGTHS, NEAR, OTHER, TWO, UNEQUAL, AtlasProblem, distance
from .published_methods import PUBLISHED_METHODS, PublishedMethod
from .training import UnsettledError, drift_over_chains, expected, flow, gradient

SMALL, REFERENCE = 0.02, 0.1
"""Knobs: the one that stands for zero, and the one at which the training is looked at on its way."""
SAME = 0.05
"""Two starts end alike if the correct answers' shares are that near, in total variation."""
LOST = (1e-3, 1e-5)
"""Shares of a nearly lost answer, between which the power of its recovery is taken."""


@dataclass(frozen=True, kw_only=True)
class AtlasRow:
    """What was found of one method; None where a flow did not settle, or a pass rate was not reached.

    selects: the shares of the correct answers that training converges to, on several lengths, with the knob
    at SMALL; selects_single: the same of unequal one-token answers. fixed: whether another start ends there
    too. drift: over seeds, at matched speed, relative to GRPO's. way_back, recovery in words; way_back_power:
    p, where the gradient on an answer of share eps is as eps^p, None if it is away. wrong: the mass of
    incorrect answers at REFERENCE, rare and long: the share of the rarest and of the longer correct answers
    at the end, all relative to the base's.
    """

    method: str
    source: str
    read: str
    note: str
    selects: str
    selects_single: str
    fixed: bool | None
    drift: float | None
    way_back: str
    way_back_power: float | None
    wrong: float | None
    rare: float | None
    long: float | None


def row_of(method: PublishedMethod, *, seed: int = 0) -> AtlasRow:
    """The cells of a method."""
    small, reference = (SMALL, REFERENCE) if method.knob else (0.0, 0.0)
    single, several = (_end(method, problem, small) for problem in (UNEQUAL, LENGTHS))
    other = _end(method, UNEQUAL, small, start=_reversed())
    at_reference = _end(method, UNEQUAL, reference) if method.knob else single
    words, power = recovery(method, reference)
    long = LENGTHS.tokens.lengths[LENGTHS.verdicts > 0] > 1
    fixed = None
    if single is not None and other is not None:
        fixed = distance(UNEQUAL.shares(single), UNEQUAL.shares(other)) <= SAME
    return AtlasRow(
        method=method.name,
        source=method.source,
        read=method.read,
        note=method.note,
        selects=_named(LENGTHS, several),
        selects_single=_named(UNEQUAL, single),
        fixed=fixed,
        drift=_relative_drift(method, reference, seed),
        way_back=words,
        way_back_power=power,
        wrong=_gain(UNEQUAL, at_reference, lambda theta: 1 - UNEQUAL.validity(theta)),
        rare=_gain(UNEQUAL, single, lambda theta: UNEQUAL.shares(theta)[-1]),
        long=_gain(LENGTHS, several, lambda theta: LENGTHS.shares(theta)[long].sum()),
    )


def _end(
    method: PublishedMethod, problem: AtlasProblem, knob: float, start: np.ndarray | None = None
) -> np.ndarray | None:
    try:
        return flow(method, problem, knob, start=start)[1]
    except UnsettledError:
        return None


def _named(problem: AtlasProblem, end: np.ndarray | None) -> str:
    """The policy of the correct answers; the base itself, where the incorrect ones too have what they had."""
    if end is None:
        return OTHER
    name = problem.policy_name(problem.shares(end))
    moved = abs(problem.validity(end) - problem.validity(problem.start))
    return BASE if name == FILTERED and moved <= NEAR else name


def _reversed() -> np.ndarray:
    """The base with its right answers' logits in the other order."""
    right = UNEQUAL.verdicts > 0
    start = UNEQUAL.start.copy()
    start[right] = start[right][::-1]
    return start


def _gain(
    problem: AtlasProblem, end: np.ndarray | None, measure: Callable[[np.ndarray], Values]
) -> float | None:
    return None if end is None else float(measure(end)) / float(measure(problem.start))


@cache
def _grpo_drift(seed: int) -> float:
    return drift_over_chains(PUBLISHED_METHODS[0], EQUAL, 0.0, seed=seed)


def _relative_drift(method: PublishedMethod, knob: float, seed: int) -> float | None:
    try:
        return drift_over_chains(method, EQUAL, knob, seed=seed) / _grpo_drift(seed)
    except UnsettledError:
        return None


def recovery(method: PublishedMethod, knob: float) -> tuple[str, float | None]:
    """In words how an answer of share eps among two correct ones recovers; the gradient's power of eps.

    As at the end of a training every answer is correct. The gradient is that of the log ratio of the
    two; where it is there too in batches that lack the answer, the words say so. Source: ours, entries
    `convergence_time`.
    """
    drives = [_log_odds_drive(method, knob, share) for share in LOST]
    if min(drives) <= 1e-6 * LOST[1]:
        return "none", None
    power = float(np.log(drives[0] / drives[1]) / np.log(LOST[0] / LOST[1]))
    undrawn = _log_odds_drive(method, knob, LOST[1], without=True) > 0.5 * drives[1]
    speed = ("quick", "between", "slow")[bisect((0.25, 0.65), power)]
    return f"{speed}, {'undrawn' if undrawn else 'if drawn'}", power


def _log_odds_drive(method: PublishedMethod, knob: float, share: float, *, without: bool = False) -> float:
    """On log(lost/other), at the expected update, or on batches of the other answer alone."""
    theta = np.log([share, 1 - share])
    samples = expected(TWO, theta)
    if without:
        samples = samples._replace(weights=1.0 * (samples.answers == 1).all(axis=-1))
    update = gradient(method, TWO, theta, samples, knob)
    return float(update[0] - update[1])


def atlas(
    methods: Sequence[PublishedMethod] = PUBLISHED_METHODS,
    *,
    seed: int = 0,
    on_row: Callable[[AtlasRow], None] | None = None,
) -> list[AtlasRow]:
    """The rows of `PUBLISHED_METHODS`, in order, by two processes; `on_row` is called as each ends."""
    names = [method.name for method in methods]
    if len(names) == 1:  # Another process would take longer to start.
        rows = [_row_named(names[0], seed)]
        if on_row is not None:
            on_row(rows[0])
        return rows
    return in_order(partial(_row_named, seed=seed), names, on_result=on_row)


def _row_named(name: str, seed: int) -> AtlasRow:
    return row_of(next(method for method in PUBLISHED_METHODS if method.name == name), seed=seed)


COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "method": "method",
        "several lengths": "selects",
        "one decision": "selects_single",
        "other start": "fixed",
        "drift": "drift",
        "way back": "way_back",
        "wrong": "wrong",
        "rare": "rare",
        "long": "long",
        "source": "source",
        "read": "read",
    }
)
"""What is selected first, then what happens on the way: a title, and what it shows of a `Row`."""


def table(rows: Sequence[AtlasRow]) -> Table:
    """All columns of all rows."""
    cells = ([_cell(getattr(row, field)) for field in COLUMNS.values()] for row in rows)
    return Table.from_rows(COLUMNS, cells, "What each method converges to, on correct answers")


SHORT = ("method", "noise", "recovery", "rare", "long")
LEGEND = (
    "noise: how far sampling drives equally likely correct answers apart, to GRPO's",
    "recovery: the gradient on an answer nearly lost; undrawn: from stored answers",
    "rare, long: the rarest and longer correct answers' share at the end, to before",
    "* : another start converges elsewhere",
)
"""What the columns of `grouped` say, a line each."""


def grouped(rows: Sequence[AtlasRow]) -> Table:
    """The same by what is selected, in five columns: that of several lengths, and of one decision."""
    groups: dict[tuple[str, str], list[AtlasRow]] = {}
    for row in rows:
        groups.setdefault((row.selects, row.selects_single), []).append(row)
    lines: list[tuple[Cell, ...]] = []
    for (several, single), members in groups.items():
        lines.append((several if several == single else f"{several}; one decision: {single}",))
        for row in members:
            numbers = _cell(row.rare), _cell(row.long)
            name = f"  {row.method}{' *' if row.fixed is False else ''}"
            lines.append((name, _cell(row.drift), row.way_back, *numbers))
    return Table.from_rows(SHORT, lines)


def in_short(rows: Sequence[AtlasRow]) -> str:
    """How many methods converge to what, the most first."""
    ends = Counter(row.selects for row in rows)
    methods = "1 method converges" if len(rows) == 1 else f"{len(rows)} methods converge"
    return f"{methods} to: {', '.join(f'{end} ({n})' for end, n in ends.most_common())}."


def _cell(value: str | float | None) -> Cell:
    """Two digits of a number, and nothing below a thousandth: the chains tell no more."""
    if isinstance(value, bool):
        return "the same" if value else "another end"
    if value is None or isinstance(value, str):
        return value
    return "0" if abs(value) < 1e-3 else f"{value:.2g}"
