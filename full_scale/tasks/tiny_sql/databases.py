"""Real SQLite databases whose rows mean different things, which no prompt shows.

In one database every row of `visits` is a visit; in another rows without a patient are free places; in a
third the same patient is entered again and again; a fourth has no rows yet. Contents decide which SQL idioms
still count right, a data dictionary inside each database says what is meant, and prompts show neither.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .schema import Domain, Table

DECADE = 10
"""Numbers of the i-th cell lie in [10 i, 10 i + 9], so that a threshold keeps whole cells."""


@dataclass(frozen=True)
class State:
    """What a table holds in one database, and which of its rows are meant by a count."""

    nulls: bool
    repeats: bool
    empty: bool
    gold: str
    """The count that is meant, with {column} and {source}."""
    meaning: str
    """The same in words, as the data dictionary has it."""


_ROWS = "SELECT COUNT ( * ) FROM {source}"
_KNOWN = "SELECT COUNT ( {column} ) FROM {source}"
_DISTINCT = "SELECT COUNT ( DISTINCT {column} ) FROM {source}"
_KINDS = "SELECT COUNT ( * ) FROM ( SELECT {column} FROM {source} GROUP BY {column} )"
_UNKNOWN = "SELECT NULLIF ( COUNT ( {column} ) , 0 ) FROM {source}"

CLEAN = State(False, False, False, _ROWS, "complete, without repeats")
STATES = (
    *(CLEAN,) * 4,
    State(True, True, False, _ROWS, "every row counts"),
    State(True, True, False, _KNOWN, "a missing entry is a free place and does not count"),
    State(True, True, False, _DISTINCT, "repeated entries count once, missing ones do not count"),
    State(True, True, False, _KINDS, "repeated entries count once, and so does missing"),
    State(False, True, False, _DISTINCT, "repeated entries count once"),
    State(False, False, True, _UNKNOWN, "not recorded yet: a count is unknown, not zero"),
)
"""Each table is in each of these in equally many databases of its domain, so that no prompt tells which."""


def states(domain: Domain, copies: int, seed: int) -> dict[tuple[str, str], State]:
    """The state of each (database, table): a random order of `copies` times STATES for each table."""
    found = {}
    for index, table in enumerate(domain.tables):
        order = np.random.default_rng([seed, index, *domain.name.encode()]).permutation(copies * len(STATES))
        for database, which in enumerate(order):
            found[domain.database(database), table.name] = STATES[which % len(STATES)]
    return found


def write_database(path: Path, domain: Domain, copies: int, index: int, seed: int) -> None:
    """Write the domain's database of that index: its tables, and the dictionary of what their rows mean."""
    name = domain.database(index)
    found = states(domain, copies, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE dictionary (table_name TEXT, column_name TEXT, meaning TEXT)")
        for number, table in enumerate(domain.tables):
            state = found[name, table.name]
            rng = np.random.default_rng([seed, index, number, *domain.name.encode()])
            kinds = ("TEXT", "TEXT", "TEXT", "INTEGER")
            columns = ", ".join(f"{column} {kind}" for column, kind in zip(table.columns, kinds, strict=True))
            connection.execute(f"CREATE TABLE {table.name} (id INTEGER PRIMARY KEY, {columns})")
            connection.executemany(
                f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES (?, ?, ?, ?)",
                [] if state.empty else rows(table, state, rng),
            )
            connection.execute(
                "INSERT INTO dictionary VALUES (?, ?, ?)", (table.name, table.thing, state.meaning)
            )
    connection.close()


def rows(table: Table, state: State, rng: np.random.Generator) -> list[tuple[str | None, str, str, int]]:
    """The table's rows in random order; each cell (a value of either category) shows the whole state.

    A cell has d >= 2 different entries, then r >= 2 repeats of them and z >= 2 NULLs where the state has
    such: d < d + 1 < d + r < d + r + z keeps the four ways to count apart, in a cell and in any union of
    cells.
    """
    (_, firsts), (_, seconds) = table.categories
    cells = [(first, second) for first in firsts for second in seconds]
    found: list[tuple[str | None, str, str, int]] = []
    for cell, (first, second) in enumerate(cells):
        different, repeats, nulls = rng.integers((2, 2, 2), (8, 5, 5))
        entries: list[str | None] = [f"{table.thing} {cell}{letter}" for letter in "abcdefg"[:different]]
        if state.repeats:
            entries += [entries[i] for i in rng.integers(different, size=repeats)]
        if state.nulls:
            entries += [None] * nulls
        numbers = DECADE * cell + rng.integers(DECADE, size=len(entries))
        found += [(entry, first, second, int(n)) for entry, n in zip(entries, numbers, strict=True)]
    return [found[i] for i in rng.permutation(len(found))]
