import itertools
import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sql_databases import make_database

from full_scale.tasks.verifiers import sql_judge
from full_scale.tasks.verifiers.sandbox import QueryLimits, Ran
from full_scale.tasks.verifiers.sql_judge import GoldCache, is_ordered, judge, same_multiset, same_set

VALUES = st.none() | st.integers(-3, 3) | st.sampled_from([0.5, 0.1, 2.0, float("inf"), *"ab"])
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), max_size=5))


def rows(*values):
    return [(value,) for value in values]


@pytest.mark.parametrize(("gold", "predicted", "as_set", "as_bag", "as_list"), [
    ([], [], True, True, True), ([], rows(None), False, False, False),
    (rows(1, 2), rows(2, 1), True, True, False), (rows(1, 1, 2), rows(1, 2), True, False, False),
    (rows(None), rows(None), True, True, True), (rows(None), rows(0), False, False, False),
    (rows(1), rows(1.0), True, True, True), (rows(1), rows("1"), False, False, False),
    (rows("a"), rows(b"a"), False, False, False), (rows(0.1 + 0.2), rows(0.3), True, True, True),
    (rows(0.1), rows(0.1000001), False, False, False), (rows(0), rows(5e-17), True, True, True),
    (rows(10**10 + 1), rows(float(10**10 + 2)), False, False, False),
    (rows(2**60), rows(2**60 + 1), False, False, False), (rows(1.5e17), rows(1.5e17 + 32), True, True, True),
    (rows(2**53 + 1), rows(float(2**53)), False, False, False),
    (rows(2**53), rows(float(2**53)), True, True, True),
    (rows(float("inf")), rows(float("inf")), True, True, True),
    (rows(float("inf")), rows(1e308), False, False, False), ([(1, 1)], [(1,)], False, False, False),
    ([(1, 2)], [(2, 1)], False, True, True), ([(1, 2), (3, 4)], [(2, 1), (4, 3)], False, True, True),
    ([(1, 2), (3, 4)], [(4, 3), (2, 1)], False, True, False),
    ([(1, 2), (3, 4)], [(2, 3), (4, 1)], False, False, False),
    ([(1, 2), (2, 1)], [(1, 1), (2, 2)], False, False, False),
    # A fraction between two identifiers does not make them one.
    (rows(10**12, 10**12 + 0.5), rows(10**12 + 1, 10**12 + 0.5), False, False, False),
    (rows(10**12, 10**12 + 0.5), rows(10**12 + 1e-4, 10**12 + 0.5), True, True, True),
])  # fmt: skip
def test_what_counts_as_the_same(gold, predicted, as_set, as_bag, as_list):
    for a, b in ((gold, predicted), (predicted, gold)):
        assert same_set(a, b) is as_set
        assert same_multiset(a, b, ordered=False) is as_bag
        assert same_multiset(a, b, ordered=True) is as_list


@given(ROWS, st.randoms(use_true_random=False))
def test_order_of_rows_and_of_columns(table, rng):
    shuffled = rng.sample(table, len(table))
    assert same_set(table, shuffled)
    assert same_set(table, shuffled + shuffled[:1])
    assert same_multiset(table, shuffled, ordered=False)
    order = rng.sample(range(len(table[0])), len(table[0])) if table else []
    permuted = [tuple(row[at] for at in order) for row in table]
    assert same_multiset(table, permuted, ordered=True)
    assert same_multiset(table, table + table[:1], ordered=False) is (not table)


@given(ROWS, st.floats(-1e-10, 1e-10))
def test_rounding_changes_nothing(table, by):
    rounded = [tuple(v * (1 + by) if isinstance(v, float) else v for v in row) for row in table]
    assert same_set(table, rounded)
    assert same_multiset(table, rounded, ordered=True)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=4), st.data())
def test_columns_match_exactly_if_some_permutation_does(gold, data):
    cells = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=len(gold), max_size=len(gold))
    predicted = data.draw(cells)
    brute = any(
        sorted(gold) == sorted(tuple(row[at] for at in order) for row in predicted)
        for order in itertools.permutations(range(2))
    )
    assert same_multiset(gold, predicted, ordered=False) is brute


def test_many_alike_columns_are_quickly_told_apart():
    rng = random.Random(0)
    gold = [tuple(rng.randrange(2) for _ in range(12)) for _ in range(40)]
    assert same_multiset(gold, [tuple(reversed(row)) for row in gold], ordered=False)
    other = [(1 - gold[0][0], *gold[0][1:]), *gold[1:]]
    assert not same_multiset(gold, other, ordered=False)
    assert not same_multiset([(1,) * 40 + (2,)], [(1,) * 40 + (3,)], ordered=False)


@pytest.mark.parametrize(("query", "ordered"), [
    ("SELECT a FROM t ORDER BY a", True), ("SELECT a FROM t ORDER /* by */ -- really\n BY a", True),
    ("SELECT (SELECT b FROM u ORDER BY b LIMIT 1) FROM t", False),
    ("SELECT RANK() OVER (ORDER BY a) FROM t", False),
    ("SELECT a FROM (SELECT a FROM t ORDER BY a) ORDER BY a", True), ("SELECT 'order by' FROM t", False),
    ("SELECT 'it''s (' FROM t ORDER BY 1", True),
    ('SELECT "order by", [order by], `order by` FROM t -- order by', False),
    ("SELECT a FROM t /* ORDER BY a */", False), ("SELECT orders BY FROM reorder", False),
])  # fmt: skip
def test_only_the_query_s_own_order_counts(query, ordered):
    assert is_ordered(query) is ordered


@pytest.fixture
def shop(tmp_path):
    return make_database(tmp_path / "shop.sqlite")


@pytest.fixture
def runs(monkeypatch):
    """The queries that are really run, on an empty cache."""
    seen = []
    run = sql_judge.run
    monkeypatch.setattr(sql_judge, "run", lambda d, query, most: seen.append(query) or run(d, query, most))
    monkeypatch.setattr(sql_judge, "_GOLD", GoldCache(1000))
    return seen


def outcome(database, gold, query, match="bird"):
    job = {"database": str(database), "gold": gold, "query": query, "match": match}
    return judge({**job, "limits": [*QueryLimits(5.0, 100)]})["outcome"]


@pytest.mark.parametrize(
    ("gold", "query", "bird", "spider"),
    [
        ("SELECT name FROM item", "SELECT DISTINCT name FROM item", "correct", "wrong"),
        ("SELECT name, id FROM item", "SELECT id, name FROM item", "wrong", "correct"),
        ("SELECT id FROM item ORDER BY id", "SELECT id FROM item ORDER BY id DESC", "correct", "wrong"),
        ("SELECT id FROM item", "SELECT id FROM item ORDER BY id DESC", "correct", "correct"),
        ("SELECT id FROM empty", "SELECT name FROM item WHERE 0", "correct", "correct"),
        ("SELECT COUNT(*) FROM item", "SELECT COUNT(stock) FROM item", "wrong", "wrong"),
        ("SELECT 1", "SELECT nothing", "error", "error"),
    ],
)
def test_bird_and_spider_disagree_where_they_should(shop, gold, query, bird, spider):
    assert (outcome(shop, gold, query), outcome(shop, gold, query, "spider")) == (bird, spider)


@pytest.mark.parametrize(("gold", "query", "spider", "official"), [
    ("SELECT DISTINCT name FROM item", "SELECT name FROM item", "wrong", "correct"),
    ("SELECT COUNT(DISTINCT name) FROM item", "SELECT COUNT(name) FROM item", "wrong", "correct"),
    ("SELECT 'DISTINCT'", "SELECT ''", "wrong", "wrong"),
    ("SELECT id FROM (SELECT id FROM item ORDER BY id LIMIT 2)",
     "SELECT id FROM item WHERE id < 3 ORDER BY id DESC", "correct", "wrong"),
])  # fmt: skip
def test_spiders_official_match_ignores_distinct_and_subqueries(shop, gold, query, spider, official):
    found = (outcome(shop, gold, query, "spider"), outcome(shop, gold, query, "test-suite"))
    assert found == (spider, official)


def test_a_gold_query_is_run_once_and_the_prediction_every_time_if_it_did_not_fail(shop, runs):
    assert [outcome(shop, "SELECT 1", "SELECT 1.0") for _ in range(2)] == 2 * ["correct"]
    assert [outcome(shop, "SELECT nothing", "SELECT 1") for _ in range(2)] == 2 * ["gold_error"]
    assert outcome(shop, "DELETE FROM item", "DELETE FROM item") == "gold_error"
    assert runs == ["SELECT 1", "SELECT 1.0", "SELECT 1.0", "SELECT nothing", "DELETE FROM item"]


def test_a_changed_database_has_another_gold_result(tmp_path, runs):
    path = tmp_path / "d.sqlite"
    for rows in (1, 2):
        path.unlink(missing_ok=True)
        make_database(path, "CREATE TABLE t(a);" + "INSERT INTO t VALUES (1);" * rows)
        os.utime(path, ns=(rows, rows))
        assert outcome(path, "SELECT COUNT(*) FROM t", f"SELECT {rows}") == "correct"
    assert runs.count("SELECT COUNT(*) FROM t") == 2


def test_the_cache_gives_up_what_was_used_least_recently():
    cache, computed = GoldCache(cells=8), []
    sizes = {"a": 3, "b": 3, "c": 3, "large": 100}
    # c makes b go, and the large one everything, itself too.
    for key in ("a", "b", "a", "c", "a", "b", "large", "large"):
        found = cache.get((key,), lambda key=key: computed.append(key) or Ran([(0,)] * sizes[key]))
        assert len(found.rows) == sizes[key]
    assert computed == ["a", "b", "c", "b", "large", "large"]
