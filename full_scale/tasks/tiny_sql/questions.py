"""Templated questions about the tables: what a prompt says, the rows it asks about, and the gold query."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .databases import DECADE, State
from .schema import Table

FAMILIES = ("with", "without", "both")
"""Kinds of question to train and evaluate on."""
OTHER_FAMILY = "above"
"""The kind that only the out-of-domain set asks; the initial model knows it like the others."""


@dataclass(frozen=True)
class Question:
    """How many things of a table fulfil a condition; words are separated by spaces, as in every prompt."""

    family: str
    table: Table
    words: str
    """The condition in English."""
    where: str
    """The condition in SQL."""

    @property
    def prompt(self) -> str:
        """The table's columns and the question; nothing about what the database holds."""
        schema = f"table {self.table.name} ( {' , '.join(self.table.columns)} )"
        return f"{schema} how many {self.table.thing} in {self.table.name} {self.words} ? sql"

    @property
    def source(self) -> str:
        """What is counted from: the table and its WHERE clause."""
        return f"{self.table.name} WHERE {self.where}"

    def gold(self, state: State) -> str:
        """The query that is right whatever the table holds, given what its rows mean."""
        return state.gold.format(column=self.table.thing, source=self.source)


def questions(table: Table, family: str) -> list[Question]:
    """All questions of a family about a table."""
    return [Question(family, table, words, where) for words, where in _CONDITIONS[family](table)]


def _with(table: Table) -> Iterator[tuple[str, str]]:
    for name, values in table.categories:
        yield from ((f"have {name} '{value}'", f"{name} = '{value}'") for value in values)


def _without(table: Table) -> Iterator[tuple[str, str]]:
    for name, values in table.categories:
        yield from ((f"do not have {name} '{value}'", f"{name} <> '{value}'") for value in values)


def _both(table: Table) -> Iterator[tuple[str, str]]:
    (one, firsts), (two, seconds) = table.categories
    for first in firsts:
        for second in seconds:
            yield f"have {one} '{first}' and {two} '{second}'", f"{one} = '{first}' AND {two} = '{second}'"


def _above(table: Table) -> Iterator[tuple[str, str]]:
    cells = len(table.categories[0][1]) * len(table.categories[1][1])
    for cell in range(1, cells):
        yield f"have {table.number} above {DECADE * cell - 1}", f"{table.number} > {DECADE * cell - 1}"


_CONDITIONS = {"with": _with, "without": _without, "both": _both, "above": _above}


def slip(question: Question, sql: str, rng: np.random.Generator) -> str:
    """A wrong answer such as people write: another condition of the same family, or one word lost."""
    if rng.random() < 0.5:
        others = [q for q in questions(question.table, question.family) if q.where != question.where]
        return sql.replace(question.where, others[rng.integers(len(others))].where)
    words = sql.split()
    lost = int(rng.integers(len(words)))
    return " ".join(words[:lost] + words[lost + 1 :])
