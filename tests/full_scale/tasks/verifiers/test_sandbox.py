import hashlib
import sqlite3
from contextlib import closing

import pytest
from support.sql_databases import make_database

from full_scale.tasks.verifiers.sandbox import HOT_JOURNAL, QueryLimits, Ran, connect, run

LIMITS = QueryLimits(seconds=5.0, rows=100)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("a 'b' #?%") / "shop.sqlite")


def ran(database, query, limits=LIMITS):
    return run(database, query, limits)


def test_rows_are_as_sqlite_has_them(shop):
    query = "SELECT name, price, stock, photo FROM item ORDER BY id"
    assert ran(shop, query).rows == [
        ("pen", 0.1, 10, b"\x00\xff"),
        ("ink", 0.2, None, None),
        ("pen", None, 10, b""),
        ("crêpe 🦆", 1.5, 0, None),
    ]


def test_views_ctes_windows_and_mathematics_are_reading(shop):
    for query in (
        "SELECT * FROM cheap",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT SUM(n) FROM r",
        "SELECT RANK() OVER (ORDER BY price) FROM item",
        "SELECT sqrt(4), substr(name, 1, 1), strftime('%Y', '2020-01-01') FROM item",
        "SELECT * FROM (VALUES (1), (2)) EXCEPT SELECT 1",
        "/* why */ SELECT 1; -- done",
    ):
        assert ran(shop, query).outcome == "ran", query


@pytest.mark.parametrize("query", ["", " ", ";", "-- nothing", "/* nothing */"])
def test_no_query_is_no_empty_result(shop, query):
    assert ran(shop, query) == Ran(None, "error", "no query")


def test_rows_up_to_the_limit_and_no_more(shop):
    counted = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT {}"
    assert len(ran(shop, counted.format(100)).rows) == 100
    assert ran(shop, counted.format(101)) == Ran(None, "too_many_rows", "more than 100")


def test_the_clock_stops_a_query(shop):
    query = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r"
    assert ran(shop, query, QueryLimits(seconds=0.05)).outcome == "timeout"


def test_text_that_is_no_utf8_is_kept_apart(tmp_path):
    database = make_database(
        tmp_path / "d.sqlite",
        "CREATE TABLE t(a); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), (CAST(x'fe41' AS TEXT));",
    )
    assert ran(database, "SELECT a FROM t").rows == [("\udcffA",), ("\udcfeA",)]


def test_a_missing_database_is_an_error_and_stays_missing(tmp_path):
    assert ran(tmp_path / "no.sqlite", "SELECT 1").outcome == "error"
    assert ran(tmp_path, "SELECT 1").outcome == "error"
    assert not (tmp_path / "no.sqlite").exists()


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough for a header" * 50, b"SQLite format 3\x00"]
)
def test_a_corrupt_database_is_an_error(tmp_path, content):
    database = tmp_path / "d.sqlite"
    database.write_bytes(content)
    assert ran(database, "SELECT * FROM item").outcome == "error"


def test_pages_of_garbage_are_an_error(tmp_path):
    rows = "INSERT INTO t SELECT hex(randomblob(50)) FROM (WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL " + (
        "SELECT n + 1 FROM r WHERE n < 500) SELECT n FROM r);"
    )
    database = make_database(tmp_path / "d.sqlite", f"CREATE TABLE t(a); {rows}")
    content = bytearray(database.read_bytes())
    content[4096 * 2 :] = b"\xaa" * (len(content) - 4096 * 2)
    database.write_bytes(content)
    assert ran(database, "SELECT * FROM t").outcome == "error"


def test_another_process_lock_holds_nobody_up(shop):
    with closing(sqlite3.connect(shop, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert ran(shop, "SELECT COUNT(*) FROM item").rows == [(4,)]
        other.execute("ROLLBACK")


def test_changes_that_are_not_in_the_file_yet_are_refused(tmp_path):
    database = make_database(tmp_path / "d.sqlite")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("DELETE FROM item")
        found = ran(database, "SELECT COUNT(*) FROM item")
        assert (found.outcome, "checkpoint" in found.detail) == ("error", True)
    assert ran(database, "SELECT COUNT(*) FROM item").rows == [(0,)]


def test_a_hot_journal_is_refused(tmp_path):
    database = make_database(tmp_path / "d.sqlite")
    journal = tmp_path / "d.sqlite-journal"
    journal.write_bytes(bytes(512))
    assert ran(database, "SELECT 1").outcome == "ran"
    journal.write_bytes(HOT_JOURNAL + bytes(504))
    assert "roll it back" in ran(database, "SELECT 1").detail


def test_a_real_writer_s_spilt_journal_is_hot(tmp_path):
    database = make_database(tmp_path / "d.sqlite")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA cache_size = 1")
        other.execute("BEGIN")
        other.executemany("INSERT INTO empty VALUES (?)", [(n,) for n in range(20_000)])
        assert "roll it back" in ran(database, "SELECT 1").detail
        other.execute("ROLLBACK")
    assert ran(database, "SELECT 1").outcome == "ran"


def test_nothing_is_written_beside_the_database(shop):
    before = hashlib.sha256(shop.read_bytes()).digest()
    for query in ("SELECT * FROM item ORDER BY name", "DELETE FROM item", "VACUUM", "CREATE TABLE x(a)"):
        ran(shop, query)
    assert hashlib.sha256(shop.read_bytes()).digest() == before
    assert [path.name for path in shop.parent.iterdir()] == [shop.name]


READS = ("SELECT title FROM docs", "SELECT title FROM docs WHERE docs MATCH 'hello' ORDER BY rank")
WRITES = (
    "INSERT INTO docs VALUES ('x')",
    "INSERT INTO docs(docs) VALUES ('optimize')",
    "PRAGMA data_version = 3",
)


def test_a_full_text_table_of_the_database_is_read_and_no_more(tmp_path):
    database = tmp_path / "d.sqlite"
    with closing(sqlite3.connect(database)) as made:
        made.execute("CREATE VIRTUAL TABLE docs USING fts5(title)")
        made.execute("INSERT INTO docs VALUES ('hello world')")
        made.commit()
    before = database.read_bytes()
    assert [ran(database, query).rows for query in READS] == [[("hello world",)]] * 2
    assert [ran(database, query).outcome for query in WRITES] == ["forbidden"] * 3
    assert database.read_bytes() == before


def test_even_without_the_guard_the_connection_only_reads(shop):
    with closing(connect(shop)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM item").fetchone() == (4,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM item")
