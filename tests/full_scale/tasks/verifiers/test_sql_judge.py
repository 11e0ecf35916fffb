import os

import pytest
from support.sql_databases import make_database

from full_scale.tasks.verifiers import sql_judge
from full_scale.tasks.verifiers.sandbox import QueryLimits, Ran
from full_scale.tasks.verifiers.sql_judge import GoldCache, judge


@pytest.fixture
def shop(tmp_path):
    return make_database(tmp_path / "shop.sqlite")


@pytest.fixture
def runs(monkeypatch):
    """The queries that are really run, on an empty cache."""
    seen = []
    run = sql_judge.run
    monkeypatch.setattr(
        sql_judge, "run", lambda d, query, limits: seen.append(query) or run(d, query, limits)
    )
    monkeypatch.setattr(sql_judge, "_GOLD", GoldCache(1000))
    return seen


def outcome(database, gold, query, match="bird"):
    limits = list(QueryLimits(5.0, 100))
    return judge({"database": str(database), "gold": gold, "query": query, "match": match, "limits": limits})[
        "outcome"
    ]


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


def test_a_gold_query_is_run_once_and_the_prediction_every_time(shop, runs):
    for _ in range(3):
        assert outcome(shop, "SELECT 1", "SELECT 1.0") == "correct"
    assert runs == ["SELECT 1", "SELECT 1.0", "SELECT 1.0", "SELECT 1.0"]


def test_a_changed_database_has_another_gold_result(tmp_path, runs):
    path = tmp_path / "d.sqlite"
    for rows in (1, 2):
        path.unlink(missing_ok=True)
        make_database(path, "CREATE TABLE t(a);" + "INSERT INTO t VALUES (1);" * rows)
        os.utime(path, ns=(rows, rows))
        assert outcome(path, "SELECT COUNT(*) FROM t", f"SELECT {rows}") == "correct"
    assert runs.count("SELECT COUNT(*) FROM t") == 2


def test_a_gold_query_that_fails_is_said_once_and_runs_no_prediction(shop, runs):
    assert [outcome(shop, "SELECT nothing", "SELECT 1") for _ in range(2)] == 2 * ["gold_error"]
    assert outcome(shop, "DELETE FROM item", "DELETE FROM item") == "gold_error"
    assert runs == ["SELECT nothing", "DELETE FROM item"]


def test_a_missing_database_is_the_data_s_fault(tmp_path):
    assert outcome(tmp_path / "no.sqlite", "SELECT 1", "SELECT 1") == "gold_error"


def test_the_cache_gives_up_what_was_used_least_recently():
    cache = GoldCache(cells=8)
    computed = []

    def get(key, cells):
        return cache.get((key,), lambda: computed.append(key) or Ran([(0,)] * cells))

    get("a", 3)
    get("b", 3)
    get("a", 3)
    get("c", 3)  # b goes
    assert computed == ["a", "b", "c"]
    get("a", 3)
    assert computed == ["a", "b", "c"]
    get("b", 3)
    assert computed[3:] == ["b"]
    assert get("large", 100).rows == [(0,)] * 100
    get("large", 100)
    assert computed[4:] == ["large", "large"]
