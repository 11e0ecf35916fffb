"""A row of the atlas, and all of them as one table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..support.table import Cell, Table


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was found of one method; None where a flow did not settle, or a pass rate was not reached.

    selects: the law of the right answers that training ends at, on several lengths, with the knob at SMALL;
    selects_single: the same on a single decision between unequal answers. fixed: whether another start ends
    there too. drift: over seeds, at matched speed, relative to GRPO's. way_back: in words; way_back_power: p,
    where the pull on an answer of share eps is as eps^p, None if it is away. wrong: the mass of wrong answers
    at REFERENCE, rare and long: the share of the rarest and of the longer right answers at the end, all
    relative to the base's.
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


HEAD = (
    "method",
    "several lengths",
    "one decision",
    "other start",
    "drift",
    "way back",
    "wrong",
    "rare",
    "long",
    "source",
    "read",
)


def table(rows: Sequence[Row]) -> Table:
    """What is selected first, then what happens on the way; numbers as `Row` says."""
    return Table.of(HEAD, map(_cells, rows), "What each method selects, on right answers")


SHORT = ("method", "luck", "way back", "rare", "long")
LEGEND = (
    "luck: how far sampling drives equally likely right answers apart, to GRPO's",
    "way back of an answer nearly lost: also where it is undrawn, if drawn, or none",
    "rare, long: the rarest and the longer right answers' share at the end, to before",
    "* : another start ends elsewhere; what is kept depends on where training began",
)
"""What the columns of `grouped` say, a line each."""


def grouped(rows: Sequence[Row]) -> Table:
    """The same by what is selected, in five columns: that of several lengths, and of one decision."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.selects, row.selects_single), []).append(row)
    lines: list[tuple[Cell, ...]] = []
    for (several, single), held in groups.items():
        lines.append((several if several == single else f"{several}; one decision: {single}",))
        for row in held:
            numbers = _short(row.rare), _short(row.long)
            name = f"  {row.method}{' *' * (row.fixed is False)}"
            lines.append((name, _short(row.drift), row.way_back, *numbers))
    return Table.of(SHORT, lines)


def in_short(rows: Sequence[Row]) -> str:
    """How many methods end at what, the most first."""
    ends = Counter(row.selects for row in rows)
    return f"Of {len(rows)}, what is kept: {', '.join(f'{end} ({n})' for end, n in ends.most_common())}."


def _cells(row: Row) -> tuple[Cell, ...]:
    other = {True: "the same", False: "another end", None: None}[row.fixed]
    numbers = (row.wrong, row.rare, row.long)
    return (
        row.method,
        row.selects,
        row.selects_single,
        other,
        _short(row.drift),
        row.way_back,
        *map(_short, numbers),
        row.source,
        row.read,
    )


def _short(value: float | None) -> Cell:
    """Two digits, and nothing below a thousandth: the chains tell no more."""
    return None if value is None else "0" if abs(value) < 1e-3 else f"{value:.2g}"
