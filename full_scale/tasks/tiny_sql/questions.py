"""SQLite databases whose rows have a meaning that no prompt shows, and templated questions about them."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

_THINGS = (
    *(("visits", "patient"), ("orders", "customer"), ("flights", "pilot"), ("loans", "reader")),
    *(("matches", "player"), ("lessons", "teacher"), ("trips", "driver"), ("sales", "seller")),
    *(("shows", "singer"), ("cases", "judge"), ("meals", "cook"), ("surveys", "citizen")),
    *(("repairs", "mechanic"), ("bookings", "guest"), ("tests", "student"), ("reports", "author")),
)
_CATEGORIES = {
    "region": ("north", "south", "east"),
    "shift": ("morning", "evening", "night"),
    "status": ("open", "closed", "paused"),
    "colour": ("red", "green", "blue"),
    "grade": ("gold", "silver", "bronze"),
    "size": ("small", "medium", "large"),
    "channel": ("phone", "letter", "online"),
}
_NUMBERS = ("age", "price", "weight", "score", "distance")


@dataclass(frozen=True)
class SqlTable:
    """A table `name (thing, category, category, number)`; the meaning of its rows differs by database."""

    name: str
    thing: str
    categories: tuple[tuple[str, tuple[str, ...]], ...]
    number: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that a prompt shows, in order."""
        return (self.thing, *(name for name, _ in self.categories), self.number)


@dataclass(frozen=True)
class Domain:
    """Tables shared by the databases of one domain."""

    name: str
    tables: tuple[SqlTable, ...]

    def database(self, index: int) -> str:
        """Name of one of its databases."""
        return f"{self.name}_{index}"


def domains(count: int, tables: int) -> tuple[Domain, ...]:
    """First `count` domains of `tables` tables each; no two tables of the task share a name."""
    return tuple(
        Domain(f"domain{d}", tuple(_table(d * tables + t) for t in range(tables))) for d in range(count)
    )


def _table(index: int) -> SqlTable:
    again, which = divmod(index, len(_THINGS))
    name, thing = _THINGS[which]
    names = tuple(_CATEGORIES)
    # Two different categories: the step between them is 1, 2, ... as the table index grows.
    step = 1 + index // len(names) % (len(names) - 1)
    chosen = (names[index % len(names)], names[(index + step) % len(names)])
    return SqlTable(
        f"{name}{again + 1}" if again else name,
        thing,
        tuple((category, _CATEGORIES[category]) for category in chosen),
        _NUMBERS[index % len(_NUMBERS)],
    )


DECADE = 10
"""Numbers of the i-th cell lie in [10 i, 10 i + 9], so that a threshold selects whole cells."""


@dataclass(frozen=True)
class State:
    """Content of a table in one database, and the rows that a count means."""

    nulls: bool
    repeats: bool
    empty: bool
    gold: str  # Query of the intended count, with {column} and {source}.
    meaning: str  # The count in words, as in the data dictionary.


_ROWS = "SELECT COUNT ( * ) FROM {source}"
_COUNT_QUERY = "SELECT COUNT ( {column} ) FROM {source}"
_DISTINCT = "SELECT COUNT ( DISTINCT {column} ) FROM {source}"
_KINDS = "SELECT COUNT ( * ) FROM ( SELECT {column} FROM {source} GROUP BY {column} )"
_UNKNOWN = "SELECT NULLIF ( COUNT ( {column} ) , 0 ) FROM {source}"

CLEAN = State(False, False, False, _ROWS, "complete, without repeats")
STATES = (
    *(CLEAN,) * 4,
    State(True, True, False, _ROWS, "every row counts"),
    State(True, True, False, _COUNT_QUERY, "a missing entry is a free place and does not count"),
    State(True, True, False, _DISTINCT, "repeated entries count once, missing ones do not count"),
    State(True, True, False, _KINDS, "repeated entries count once, and so does missing"),
    State(False, True, False, _DISTINCT, "repeated entries count once"),
    State(False, False, True, _UNKNOWN, "not recorded yet: a count is unknown, not zero"),
)
"""Each table has each state in equally many databases of its domain, so no prompt shows the state."""


def states(domain: Domain, copies: int, seed: int) -> dict[tuple[str, str], State]:
    """State of each (database, table): a random order of `copies` times STATES for each table."""
    by_table = {}
    for index, table in enumerate(domain.tables):
        order = np.random.default_rng([seed, index, *domain.name.encode()]).permutation(copies * len(STATES))
        for database, which in enumerate(order):
            by_table[domain.database(database), table.name] = STATES[which % len(STATES)]
    return by_table


def write_database(path: Path, domain: Domain, copies: int, index: int, seed: int) -> None:
    """Write the domain's database of that index: its tables, and the dictionary of their rows' meaning."""
    name = domain.database(index)
    by_table = states(domain, copies, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE dictionary (table_name TEXT, column_name TEXT, meaning TEXT)")
        for number, table in enumerate(domain.tables):
            state = by_table[name, table.name]
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


def rows(table: SqlTable, state: State, rng: np.random.Generator) -> list[tuple[str | None, str, str, int]]:
    """Rows (thing, category, category, number) in random order; each cell shows the whole state.

    A cell is a value of either category. It has d >= 2 different entries, then r >= 2 repeats and z >= 2
    NULLs if the state has them: d < d + 1 < d + r < d + r + z distinguishes the four ways to count, in a cell
    and in any union of cells.
    """
    (_, firsts), (_, seconds) = table.categories
    cells = [(first, second) for first in firsts for second in seconds]
    in_order: list[tuple[str | None, str, str, int]] = []
    for cell, (first, second) in enumerate(cells):
        different, repeats, nulls = rng.integers((2, 2, 2), (8, 5, 5))
        entries: list[str | None] = [f"{table.thing} {cell}{letter}" for letter in "abcdefg"[:different]]
        if state.repeats:
            entries += [entries[i] for i in rng.integers(different, size=repeats)]
        if state.nulls:
            entries += [None] * nulls
        numbers = DECADE * cell + rng.integers(DECADE, size=len(entries))
        in_order += [(entry, first, second, int(n)) for entry, n in zip(entries, numbers, strict=True)]
    return [in_order[i] for i in rng.permutation(len(in_order))]


FAMILIES = ("with", "without", "both")  # Kinds of question for training and evaluation.
OTHER_FAMILY = "above"
"""Kind of question for the out-of-domain set only; the initial model knows it like the others."""


@dataclass(frozen=True)
class Question:
    """Number of things in a table that fulfil a condition; words are separated by spaces."""

    family: str
    table: SqlTable
    words: str  # Condition in English.
    where: str  # Condition in SQL.

    @property
    def prompt(self) -> str:
        """Columns of the table and the question, without the database's content."""
        schema = f"table {self.table.name} ( {' , '.join(self.table.columns)} )"
        return f"{schema} how many {self.table.thing} in {self.table.name} {self.words} ? sql"

    @property
    def source(self) -> str:
        """Table name and WHERE clause over which the question counts."""
        return f"{self.table.name} WHERE {self.where}"

    def gold(self, state: State) -> str:
        """Query that is correct for every content of the table, given the meaning of its rows."""
        return state.gold.format(column=self.table.thing, source=self.source)


def questions(table: SqlTable, family: str) -> list[Question]:
    """All questions of a family about a table."""
    return [Question(family, table, words, where) for words, where in _CONDITIONS[family](table)]


def _one(verb: str, relation: str, table: SqlTable) -> Iterator[tuple[str, str]]:
    for name, values in table.categories:
        yield from ((f"{verb} {name} '{value}'", f"{name} {relation} '{value}'") for value in values)


def _both(table: SqlTable) -> Iterator[tuple[str, str]]:
    (one, firsts), (two, seconds) = table.categories
    for first in firsts:
        for second in seconds:
            yield f"have {one} '{first}' and {two} '{second}'", f"{one} = '{first}' AND {two} = '{second}'"


def _above(table: SqlTable) -> Iterator[tuple[str, str]]:
    cells = len(table.categories[0][1]) * len(table.categories[1][1])
    for cell in range(1, cells):
        yield f"have {table.number} above {DECADE * cell - 1}", f"{table.number} > {DECADE * cell - 1}"


_CONDITIONS: dict[str, Callable[[SqlTable], Iterator[tuple[str, str]]]] = {
    "with": partial(_one, "have", "="),
    "without": partial(_one, "do not have", "<>"),
    "both": _both,
    "above": _above,
}


def slip(question: Question, sql: str, rng: np.random.Generator) -> str:
    """Draw a realistic incorrect answer: another condition of the same family, or one word lost."""
    if rng.random() < 0.5:
        alternatives = [q for q in questions(question.table, question.family) if q.where != question.where]
        return sql.replace(question.where, alternatives[rng.integers(len(alternatives))].where)
    words = sql.split()
    lost = int(rng.integers(len(words)))
    return " ".join(words[:lost] + words[lost + 1 :])
