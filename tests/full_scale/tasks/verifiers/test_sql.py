"""The SQL verifier against hostile queries, through real worker processes, and what one query may read."""

import hashlib
import sqlite3
import time
from contextlib import closing

import pytest
from support.sql_databases import make_database

from full_scale.tasks.protocol import Prompt, matches
from full_scale.tasks.verifiers.pool import Dispatch
from full_scale.tasks.verifiers.sandbox import HOT_JOURNAL, QueryLimits, Ran, connect, run
from full_scale.tasks.verifiers.sql import SqlVerifier

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT"
MANY = ", ".join(f"item AS t{n}" for n in range(20))
FORBIDDEN = (
    """
INSERT INTO item VALUES (9, 'x', 1, 1, NULL) | REPLACE INTO item VALUES (1, 'x', 1, 1, NULL)
UPDATE item SET price = 0 | UPDATE item SET price = 0 RETURNING 4 | DELETE FROM item
WITH d AS (SELECT 1) DELETE FROM item WHERE id IN d | DROP TABLE item | DROP VIEW cheap | CREATE TABLE x(a)
CREATE TEMP TABLE x(a) | CREATE TABLE x AS SELECT * FROM item | CREATE VIEW x AS SELECT 1
CREATE TEMP VIEW x AS SELECT 1 | CREATE INDEX x ON item(name)
CREATE TRIGGER x AFTER INSERT ON item BEGIN SELECT 1; END | CREATE VIRTUAL TABLE x USING fts5(a)
ALTER TABLE item RENAME TO goods | ALTER TABLE item ADD COLUMN x
ATTACH DATABASE '{folder}/attached.sqlite' AS other | ATTACH ':memory:' AS other | DETACH DATABASE main
PRAGMA writable_schema = 1 | PRAGMA query_only = 0 | PRAGMA hard_heap_limit = 0 | PRAGMA table_info(item)
SELECT * FROM pragma_table_info('item') | SELECT load_extension('{folder}/extension.so')
SELECT CASE WHEN 1 THEN 4 ELSE load_extension('x') END | SELECT fts3_tokenizer('simple') | VACUUM
VACUUM INTO '{folder}/copy.sqlite' | REINDEX | ANALYZE | BEGIN EXCLUSIVE | SAVEPOINT s | COMMIT | ROLLBACK
RELEASE s
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)
CASES = [
    *((query, "forbidden") for query in FORBIDDEN),
    # Without end, or nearly.
    (f"{ENDLESS} COUNT(*) FROM r", "timeout"), (f"{ENDLESS} n FROM r", "too_many_rows"),
    (f"{ENDLESS} n FROM r LIMIT 1000000", "too_many_rows"), (f"SELECT COUNT(*) FROM {MANY}", "timeout"),
    (f"SELECT 1 FROM {MANY}", "too_many_rows"),
    (f"SELECT SUM(t0.id) FROM {MANY} ORDER BY RANDOM()", "timeout"),
    # C functions that look at no clock: the kernel's ends the process.
    ("SELECT printf('%.*c', 900000000, 'x') " + "|| printf('%.*c', 900000000, 'x')" * 20, "timeout"),
    # Too large.
    ("SELECT randomblob(1000000000)", "memory"), ("SELECT hex(zeroblob(1000000000))", "memory"),
    ("SELECT replace(hex(zeroblob(4000000)), '0', 'aaaaaaaaaa')", "memory"),
    ("SELECT group_concat(hex(zeroblob(1000000))) FROM item, item AS t", "memory"),
    ("SELECT zeroblob(9000000) FROM item, item, item, item", "memory"),
    (f"SELECT COUNT(*) FROM ({ENDLESS} zeroblob(9000000) AS z FROM r ORDER BY z)", "memory"),
    # More or less than one statement, and what is none.
    ("", "no_answer"), ("SELECT 4; DROP TABLE item", "error"), ("-- SELECT 4", "error"), (";", "error"),
    ("four", "error"), ("SELECT 4\x00", "error"), ("SELECT '\ud800'", "error"),
    ("SELECT * FROM absent", "error"), ("SELECT writefile('{folder}/x', 'x')", "error"),
    ("SELECT readfile('/etc/passwd')", "error"), ("SELECT ?", "error"),
    # Too deep, too long, too wide.
    ("SELECT " + "(" * 3000 + "4" + ")" * 3000, "error"), ("SELECT " + "1 + " * 5000 + "4", "error"),
    ("SELECT " + "NOT " * 20000 + "4", "error"), ("SELECT 4 -- " + "x" * 200_000, "error"),
    ("SELECT " + ", ".join(["4"] * 5000), "error"), ("SELECT 4" + " UNION SELECT 4" * 1000, "error"),
    ("SELECT 4 FROM " + ", ".join(f"item AS t{n}" for n in range(80)), "error"),
    ("SELECT SUM(9223372036854775807) FROM item", "error"),
    # Odd, and read as SQL has it.
    ("/* one */ SELECT /* two */ 4; -- three", "correct"), ("SELECT 4 / 0", "wrong"),
    ("SELECT 9e999 - 9e999", "wrong"), ("SELECT photo FROM item", "wrong"),
    ("SELECT sql FROM sqlite_master", "wrong"), ("EXPLAIN SELECT 4", "wrong"),
    # Functions that stand for tables: those of JSON read their arguments alone.
    ("SELECT COUNT(*) FROM json_each('[1, 2, 3, 4]')", "correct"),
    ("SELECT MAX(value) FROM json_tree('{\"a\": [1, 4]}') WHERE type = 'integer'", "correct"),
    ("SELECT value FROM json_each('[4]'), pragma_table_info('item')", "forbidden"),
    ("SELECT * FROM pragma_module_list", "forbidden"), ("UPDATE sqlite_master SET sql = ''", "error"),
    ("DELETE FROM sqlite_master", "error"),
]  # fmt: skip


def example(database, gold="SELECT COUNT(*) FROM item", **reference):
    return Prompt("e", "How many?", {"database": str(database), "query": gold, **reference})


def outcomes(scores):
    return [score.outcome for score in scores]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("a 'b' #?%") / "shop.sqlite")


@pytest.fixture(scope="module")
def verifier():
    with SqlVerifier(seconds=0.4, rows=1000, memory=2**27, workers=2) as verifier:
        yield verifier


def test_hostile_queries_end_as_they_should_in_any_company_and_change_nothing(tmp_path, verifier):
    """All side by side: nothing of one query reaches the next."""
    shop = make_database(tmp_path / "shop.sqlite")
    before = hashlib.sha256(shop.read_bytes()).digest()
    queries = [query.replace("{folder}", str(tmp_path)) for query, _ in CASES]
    # Of the last one the gold query never ends, which is the data's fault.
    examples = [*[example(shop)] * len(CASES), example(shop, f"{ENDLESS} COUNT(*) FROM r")]
    *scores, last = verifier(examples, [f"```sql\n{query}\n```" for query in (*queries, "SELECT 4")])
    assert last.outcome == "gold_error"
    # Side by side with what they should be, so that a difference names its query.
    assert [*zip(queries, outcomes(scores), strict=True)] == [
        (query, outcome) for query, (_, outcome) in zip(queries, CASES, strict=True)
    ]
    assert [score.correct for score in scores] == [outcome == "correct" for _, outcome in CASES]
    assert hashlib.sha256(shop.read_bytes()).digest() == before
    assert [*tmp_path.iterdir()] == [shop]


@pytest.mark.slow
def test_a_batch_of_a_thousand_takes_seconds(shop):
    with SqlVerifier(workers=2) as verifier:
        begun = time.monotonic()
        scores = verifier([example(shop)] * 1000, [f"SELECT {n}" for n in range(1000)])
        assert time.monotonic() - begun < 20
    assert [n for n, score in enumerate(scores) if score.correct] == [4]


def test_it_is_told_by_which_match_answers_are_judged(verifier):
    asked = [Prompt(name, "?", {"verifier": "sql", "match": name}) for name in ("bird", "spider")]
    assert matches(verifier, asked) == ("bird", "spider")
    with SqlVerifier(match="test-suite", workers=1) as other:
        assert matches(Dispatch({"sql": other}), asked) == ("bird", "test-suite")


def test_wrong_use_is_refused(shop, verifier):
    with pytest.raises(ValueError, match="match='exact'"):
        SqlVerifier(match="exact")
    for changed, says in (
        ({"database": ""}, "'e'.*database"),
        ({"query": ""}, "'e'.*query"),
        ({"match": "exact"}, "match='exact'"),
    ):
        with pytest.raises(ValueError, match=says):
            verifier([Prompt("e", "", example(shop).reference | changed)], ["SELECT 1"])


def ran(database, query, seconds=5.0):
    return run(database, query, QueryLimits(seconds, rows=100))


def test_rows_are_as_sqlite_has_them(shop, tmp_path):
    assert ran(shop, "SELECT name, price, stock, photo FROM item ORDER BY id").rows == [
        ("pen", 0.1, 10, b"\x00\xff"),
        ("ink", 0.2, None, None),
        ("pen", None, 10, b""),
        ("crêpe 🦆", 1.5, 0, None),
    ]
    # Text that is no UTF-8 is kept apart.
    texts = "CREATE TABLE t(a); INSERT INTO t VALUES (CAST(x'ff41' AS TEXT)), (CAST(x'fe41' AS TEXT));"
    assert ran(make_database(tmp_path / "d.sqlite", texts), "SELECT a FROM t").rows == [
        ("\udcffA",),
        ("\udcfeA",),
    ]


NO_QUERY = Ran(None, "error", "no query")


@pytest.mark.parametrize(("query", "found"), [
    ("SELECT COUNT(*) FROM cheap", [(2,)]), (f"SELECT SUM(n) FROM ({ENDLESS} n FROM r LIMIT 5)", [(15,)]),
    ("SELECT RANK() OVER (ORDER BY id DESC) FROM item", [(1,), (2,), (3,), (4,)]),
    ("SELECT sqrt(4), substr('pen', 1, 1), strftime('%Y', '2020-01-01')", [(2.0, "p", "2020")]),
    ("SELECT * FROM (VALUES (1), (2)) EXCEPT SELECT 1", [(2,)]), ("/* why */ SELECT 1; -- done", [(1,)]),
    *((nothing, NO_QUERY) for nothing in ("", " ", ";", "-- nothing", "/* nothing */")),
    (f"{ENDLESS} n FROM r LIMIT 100", [(n,) for n in range(1, 101)]),
    (f"{ENDLESS} n FROM r LIMIT 101", Ran(None, "too_many_rows", "more than 100")),
])  # fmt: skip
def test_whatever_only_reads_is_run(shop, query, found):
    assert ran(shop, query) == (found if isinstance(found, Ran) else Ran(found))


def test_the_clock_stops_a_query(shop):
    assert ran(shop, f"{ENDLESS} COUNT(*) FROM r", seconds=0.05).outcome == "timeout"


def test_a_database_that_is_missing_or_corrupt_is_unreadable(tmp_path, verifier):
    rows = f"SELECT hex(randomblob(50)) FROM ({ENDLESS} n FROM r LIMIT 500);"
    broken = make_database(tmp_path / "broken.sqlite", f"CREATE TABLE item AS {rows}")
    pages = broken.read_bytes()
    garbage = pages[: 2 * 4096] + b"\xaa" * (len(pages) - 2 * 4096)
    contents = (b"", b"no database at all" * 100, b"SQLite format 3\x00", garbage)
    places = [tmp_path / f"{n}.sqlite" for n in range(len(contents))]
    for place, content in zip(places, contents, strict=True):
        place.write_bytes(content)
    places += [tmp_path, tmp_path / "none.sqlite"]
    query = "SELECT * FROM item"
    assert {ran(place, query).outcome for place in places} == {"unreadable"}
    examples = [example(place, query) for place in places]
    assert outcomes(verifier(examples, [query] * 6)) == ["unreadable"] * 6
    assert not places[-1].exists()


def test_what_another_process_has_not_written_yet_is_refused_and_its_lock_holds_nobody_up(tmp_path, verifier):
    database, count = make_database(tmp_path / "d.sqlite"), "SELECT COUNT(*) FROM item"
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM item WHERE id = 1")
        assert ran(database, count).rows == [(4,)]
        assert outcomes(verifier([example(database)], ["SELECT 4"])) == ["correct"]
        other.execute("ROLLBACK")
        # A journal that was spilt before the end: pages of the file may have been written.
        other.execute("PRAGMA cache_size = 1")
        other.execute("BEGIN")
        other.executemany("INSERT INTO empty VALUES (?)", [(n,) for n in range(5_000)])
        assert "roll it back" in ran(database, count).detail
        other.execute("ROLLBACK")
        assert ran(database, count).rows == [(4,)]
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("DELETE FROM item")
        assert "checkpoint" in ran(database, count).detail
    assert ran(database, count).rows == [(0,)]
    journal = tmp_path / "d.sqlite-journal"
    for head, rows in ((bytes(8), [(0,)]), (HOT_JOURNAL, None)):
        journal.write_bytes(head + bytes(504))
        assert ran(database, count).rows == rows


def test_a_full_text_table_of_the_database_is_read_and_no_more(tmp_path):
    create = "CREATE VIRTUAL TABLE docs USING fts5(title); INSERT INTO docs VALUES ('hello world');"
    database = make_database(tmp_path / "d.sqlite", create)
    before = database.read_bytes()
    for query in ("SELECT title FROM docs", "SELECT title FROM docs WHERE docs MATCH 'hello' ORDER BY rank"):
        assert ran(database, query).rows == [("hello world",)]
    for query in (
        "INSERT INTO docs VALUES ('x')",
        "INSERT INTO docs(docs) VALUES ('optimize')",
        "PRAGMA data_version = 3",
    ):
        assert ran(database, query).outcome == "forbidden"
    assert database.read_bytes() == before


def test_even_without_the_guard_the_connection_only_reads(shop):
    with closing(connect(shop)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM item").fetchone() == (4,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM item")
