import itertools
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from full_scale.tasks.tiny_sql.model import STYLES, written
from full_scale.tasks.tiny_sql.questions import (
    CLEAN,
    DECADE,
    FAMILIES,
    OTHER_FAMILY,
    STATES,
    domains,
    questions,
    rows,
    slip,
    states,
    write_database,
)


@pytest.mark.parametrize(("count", "tables"), [(3, 2), (1, 1), (7, 9)])
def test_tables_have_names_of_their_own_and_different_columns(count, tables):
    found = domains(count, tables)
    assert len({domain.name for domain in found}) == count
    named = [table for domain in found for table in domain.tables]
    assert len({table.name for table in named}) == len(named) == count * tables
    for table in named:
        assert len(set(table.columns)) == 4
        assert table.columns == (table.thing, *(name for name, _ in table.categories), table.number)
    # A larger task begins with the smaller one.
    assert domains(count + 2, tables)[:count] == found


ALL = frozenset(STYLES)
RIGHT = {
    "complete, without repeats": ALL,
    "every row counts": {"count_star"},
    "a missing entry is a free place and does not count": {"count_column", "sum_case"},
    "repeated entries count once, missing ones do not count": {"count_distinct"},
    "repeated entries count once, and so does missing": {"subquery"},
    "repeated entries count once": {"count_distinct", "subquery"},
    "not recorded yet: a count is unknown, not zero": {"sum_case"},
}
"""Which styles are right in each state, by SQL's rules."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    (domain,) = domains(1, 2)
    for index in range(len(STATES)):
        write_database(folder / f"{index}.sqlite", domain, 1, index, 3)
    return folder, domain


def read(path, *queries):
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(query).fetchall() for query in queries]


def verdicts(place, families):
    """(state, question) -> the styles that are right, by running them all."""
    folder, domain = place
    found, state_of = {}, states(domain, 1, 3)
    for index, table, family in itertools.product(range(len(STATES)), domain.tables, families):
        state = state_of[domain.database(index), table.name]
        for question in questions(table, family):
            queries = [written(style, table.thing, question.source) for style in STYLES]
            gold, *results = read(folder / f"{index}.sqlite", question.gold(state), *queries)
            right = {style for style, rows in zip(STYLES, results, strict=True) if rows == gold}
            found.setdefault((state.meaning, question.prompt), []).append(right)
    return found


def test_each_state_is_solved_by_the_styles_that_sql_says_whatever_the_text(place):
    found = verdicts(place, [*FAMILIES, OTHER_FAMILY])
    by_text = {}
    for (meaning, prompt), cases in found.items():
        assert all(right == RIGHT[meaning] for right in cases), (meaning, prompt, cases)
        by_text.setdefault(prompt, Counter())[meaning] += len(cases)
    # Every text meets every state equally often: the right style is independent of the text.
    expected = Counter(state.meaning for state in STATES)
    assert set(expected) == set(RIGHT)
    assert all(counts == expected for counts in by_text.values())


def test_no_style_is_always_right():
    shares = {s: sum(s in RIGHT[state.meaning] for state in STATES) / len(STATES) for s in STYLES}
    assert shares == pytest.approx(dict(zip(STYLES, (0.5, 0.5, 0.6, 0.6, 0.6), strict=True)))
    assert sum(RIGHT[state.meaning] == ALL for state in STATES) / len(STATES) == 0.4


def test_states_are_shuffled_by_table_and_seed():
    (domain,) = domains(1, 2)
    first, second = states(domain, 2, 0), states(domain, 2, 1)
    assert Counter(first.values()) == Counter(second.values())
    assert Counter(first.values())[CLEAN] == 2 * 2 * 4
    assert first != second
    one, two = ([first[domain.database(i), table.name] for i in range(20)] for table in domain.tables)
    assert one != two


def test_databases_are_a_function_of_the_seed_and_their_dictionary_says_what_is_meant(place, tmp_path):
    folder, domain = place

    def dumped(path):
        with closing(sqlite3.connect(path)) as connection:
            return [*connection.iterdump()]

    for seed in (3, 4):
        write_database(tmp_path / str(seed), domain, 1, 2, seed)
    assert dumped(folder / "2.sqlite") == dumped(tmp_path / "3") != dumped(tmp_path / "4")
    found = states(domain, 1, 3)
    for index in range(len(STATES)):
        (said,) = read(folder / f"{index}.sqlite", "SELECT table_name, meaning FROM dictionary")
        assert dict(said) == {t.name: found[domain.database(index), t.name].meaning for t in domain.tables}


@pytest.mark.parametrize("state", STATES[3:9], ids=lambda state: state.meaning)
@pytest.mark.parametrize("seed", range(5))
def test_every_cell_shows_the_whole_state(state, seed):
    (domain,) = domains(1, 1)
    (table,) = domain.tables
    found = rows(table, state, np.random.default_rng(seed))
    cells = {}
    for entry, first, second, number in found:
        cells.setdefault((first, second), []).append((entry, number))
    assert len(cells) == 9
    for index, cell in enumerate(sorted(cells, key=lambda cell: min(n for _, n in cells[cell]))):
        entries = [entry for entry, _ in cells[cell]]
        known = [entry for entry in entries if entry is not None]
        assert (len(entries) - len(known) >= 2) == state.nulls
        assert (len(known) - len(set(known)) >= 2) == state.repeats
        assert len(set(known)) >= 2
        assert all(index * DECADE <= number < (index + 1) * DECADE for _, number in cells[cell])


TABLE = domains(1, 1)[0].tables[0]


@pytest.mark.parametrize(("family", "count", "prompt", "where"), [
    ("with", 6, "region 'north'", "region = 'north'"), ("without", 6, "region 'north'", "region <> 'north'"),
    ("both", 9, "region 'north' and shift 'morning'", "region = 'north' AND shift = 'morning'"),
    ("above", 8, "age above 9", "age > 9"),
])  # fmt: skip
def test_questions_of_a_family_show_columns_and_condition_only(family, count, prompt, where):
    asked = questions(TABLE, family)
    assert len({q.prompt for q in asked}) == len({q.where for q in asked}) == len(asked) == count
    have = "do not have" if family == "without" else "have"
    begun = "table visits ( patient , region , shift , age ) how many patient in visits"
    assert asked[0].prompt == f"{begun} {have} {prompt} ? sql"
    assert asked[0].source == f"visits WHERE {where}"


def test_slips_are_other_questions_or_lost_words():
    rng = np.random.default_rng(0)
    (first, *_) = questions(TABLE, "with")
    sql = written("count_star", TABLE.thing, first.source)
    others = {written("count_star", TABLE.thing, q.source) for q in questions(TABLE, "with")} - {sql}
    lost = {" ".join(w for i, w in enumerate(sql.split()) if i != gone) for gone in range(len(sql.split()))}
    found = [slip(first, sql, rng) for _ in range(400)]
    assert set(found) == others | lost
    assert 0.4 < np.mean([answer in others for answer in found]) < 0.6
