"""The verifier against hostile queries, through real worker processes."""

import hashlib
import sqlite3
import time
from contextlib import closing

import pytest
from support.sql_databases import make_database

from full_scale.tasks.protocol import Prompt, Score
from full_scale.tasks.verifiers.sql import SqlVerifier

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT"
MANY = ", ".join(f"item AS t{n}" for n in range(20))
FORBIDDEN = """
INSERT INTO item VALUES (9, 'x', 1, 1, NULL)
REPLACE INTO item VALUES (1, 'x', 1, 1, NULL)
UPDATE item SET price = 0
UPDATE item SET price = 0 RETURNING 4
DELETE FROM item
WITH d AS (SELECT 1) DELETE FROM item WHERE id IN d
DROP TABLE item
DROP VIEW cheap
CREATE TABLE x(a)
CREATE TEMP TABLE x(a)
CREATE TABLE x AS SELECT * FROM item
CREATE VIEW x AS SELECT 1
CREATE TEMP VIEW x AS SELECT 1
CREATE INDEX x ON item(name)
CREATE TRIGGER x AFTER INSERT ON item BEGIN SELECT 1; END
CREATE VIRTUAL TABLE x USING fts5(a)
ALTER TABLE item RENAME TO goods
ALTER TABLE item ADD COLUMN x
ATTACH DATABASE '{folder}/attached.sqlite' AS other
ATTACH ':memory:' AS other
DETACH DATABASE main
PRAGMA writable_schema = 1
PRAGMA query_only = 0
PRAGMA hard_heap_limit = 0
PRAGMA table_info(item)
SELECT * FROM pragma_table_info('item')
SELECT load_extension('{folder}/extension.so')
SELECT CASE WHEN 1 THEN 4 ELSE load_extension('x') END
SELECT fts3_tokenizer('simple')
VACUUM
VACUUM INTO '{folder}/copy.sqlite'
REINDEX
ANALYZE
BEGIN EXCLUSIVE
SAVEPOINT s
COMMIT
ROLLBACK
RELEASE s
""".strip().splitlines()
CASES = [
    *((query, "forbidden") for query in FORBIDDEN),
    # Without end, or nearly.
    (f"{ENDLESS} COUNT(*) FROM r", "timeout"),
    (f"{ENDLESS} n FROM r", "too_many_rows"),
    (f"{ENDLESS} n FROM r LIMIT 1000000", "too_many_rows"),
    (f"{ENDLESS} MAX(n) FROM r LIMIT 1", "timeout"),
    (f"SELECT COUNT(*) FROM {MANY}", "timeout"),
    (f"SELECT 1 FROM {MANY}", "too_many_rows"),
    (f"SELECT SUM(t0.id) FROM {MANY} ORDER BY RANDOM()", "timeout"),
    # C functions that look at no clock: the kernel's ends the process.
    ("SELECT printf('%.*c', 900000000, 'x') " + "|| printf('%.*c', 900000000, 'x')" * 20, "timeout"),
    # Too large.
    ("SELECT randomblob(1000000000)", "memory"),
    ("SELECT hex(zeroblob(1000000000))", "memory"),
    ("SELECT replace(hex(zeroblob(4000000)), '0', 'aaaaaaaaaa')", "memory"),
    ("SELECT group_concat(hex(zeroblob(1000000))) FROM item, item AS t", "memory"),
    ("SELECT zeroblob(9000000) FROM item, item, item, item", "memory"),
    (f"SELECT COUNT(*) FROM ({ENDLESS} zeroblob(9000000) AS z FROM r ORDER BY z)", "memory"),
    # More or less than one statement, and what is none.
    ("SELECT 4; DROP TABLE item", "error"),
    ("SELECT 4; SELECT 4", "error"),
    ("SELECT 4;;", "error"),
    ("-- SELECT 4", "error"),
    (";", "error"),
    ("four", "error"),
    ("SELECT 4\x00", "error"),
    ("SELECT '\ud800'", "error"),
    ("SELECT", "error"),
    ("SELECT * FROM absent", "error"),
    ("SELECT absent FROM item", "error"),
    ("SELECT writefile('{folder}/x', 'x')", "error"),
    ("SELECT readfile('/etc/passwd')", "error"),
    ("SELECT ?", "error"),
    # Too deep, too long, too wide.
    ("SELECT " + "(" * 3000 + "4" + ")" * 3000, "error"),
    ("SELECT " + "1 + " * 5000 + "4", "error"),
    ("SELECT " + "NOT " * 20000 + "4", "error"),
    ("SELECT 4 -- " + "x" * 200_000, "error"),
    ("SELECT " + ", ".join(["4"] * 5000), "error"),
    ("SELECT 4" + " UNION SELECT 4" * 1000, "error"),
    ("SELECT 4 FROM " + ", ".join(f"item AS t{n}" for n in range(80)), "error"),
    ("SELECT SUM(9223372036854775807) FROM item", "error"),
    # Odd, and read as SQL has it.
    ("/* one */ SELECT /* two */ 4; -- three", "correct"),
    ("SELECT 4.0", "correct"),
    ("SELECT 4 + 1e-12", "correct"),
    ("SELECT 4 UNION ALL SELECT 4", "correct"),
    ("SELECT COUNT(*) FROM item WHERE name IS NOT NULL", "correct"),
    ("SELECT 4 WHERE NULL IS NULL", "correct"),
    ("SELECT COUNT(stock) FROM item", "wrong"),
    ("SELECT '4'", "wrong"),
    ("SELECT x'34'", "wrong"),
    ("SELECT 4, 4", "wrong"),
    ("SELECT NULL", "wrong"),
    ("SELECT 4 / 0", "wrong"),
    ("SELECT 9e999", "wrong"),
    ("SELECT 9e999 - 9e999", "wrong"),
    ("SELECT 'crêpe 🦆'", "wrong"),
    ("SELECT photo FROM item", "wrong"),
    ("SELECT id FROM empty", "wrong"),
    ("SELECT sql FROM sqlite_master", "wrong"),
    ("EXPLAIN SELECT 4", "wrong"),
    # Functions that stand for tables: those of JSON read their arguments alone.
    ("SELECT COUNT(*) FROM json_each('[1, 2, 3, 4]')", "correct"),
    ("SELECT MAX(value) FROM json_tree('{\"a\": [1, 4]}') WHERE type = 'integer'", "correct"),
    ("SELECT value FROM json_each('[4]'), pragma_table_info('item')", "forbidden"),
    ("SELECT * FROM pragma_module_list", "forbidden"),
    ("UPDATE sqlite_master SET sql = ''", "error"),
    ("DELETE FROM sqlite_master", "error"),
]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def example(database, gold="SELECT COUNT(*) FROM item", **reference):
    return Prompt("e", "How many?", {"database": str(database), "query": gold, **reference})


def fenced(query):
    return f"```sql\n{query}\n```"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("shop") / "shop.sqlite")


@pytest.fixture(scope="module")
def verifier():
    with SqlVerifier(seconds=0.4, rows=1000, memory=2**28, workers=2) as verifier:
        yield verifier


@pytest.mark.parametrize(("query", "outcome"), CASES, ids=range(len(CASES)))
def test_hostile_queries_end_as_they_should_and_change_nothing(shop, verifier, query, outcome):
    before = digest(shop)
    query = query.replace("{folder}", str(shop.parent))
    assert verifier([example(shop)], [fenced(query)]) == [Score(outcome == "correct", outcome)]
    assert digest(shop) == before
    assert [path.name for path in shop.parent.iterdir()] == [shop.name]


def test_all_hostile_queries_at_once(shop, verifier):
    """Nothing of one query reaches the next: the outcomes are the same side by side, in any company."""
    cases = [case for case in CASES if case[1] != "timeout" and "{folder}" not in case[0]]
    scores = verifier([example(shop)] * len(cases), [fenced(query) for query, _ in cases])
    assert [score.outcome for score in scores] == [outcome for _, outcome in cases]


def test_no_sql_is_no_answer_and_needs_no_worker(shop):
    with SqlVerifier(workers=1) as verifier:
        assert verifier([example(shop)] * 2, ["", "I cannot say."]) == [Score(False, "no_answer")] * 2
        assert verifier([], []) == []
        assert verifier._pool._workers == []


def test_each_example_says_how_to_compare(shop, verifier):
    gold = "SELECT name FROM item"
    examples = [example(shop, gold), example(shop, gold, match="bird"), example(shop, gold, match="spider")]
    scores = verifier(examples, ["SELECT DISTINCT name FROM item"] * 3)
    assert [score.correct for score in scores] == [True, True, False]


def test_a_database_that_another_process_has_locked(tmp_path, verifier):
    database = make_database(tmp_path / "d.sqlite")
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("DELETE FROM item WHERE id = 1")
        assert verifier([example(database)], ["SELECT 4"])[0].outcome == "correct"
        other.execute("ROLLBACK")


@pytest.mark.parametrize("content", [None, b"", b"not a database" * 100])
def test_a_database_that_is_missing_or_corrupt_is_the_data_s_fault(tmp_path, verifier, content):
    database = tmp_path / "d.sqlite"
    if content is not None:
        database.write_bytes(content)
    assert verifier([example(database)], ["SELECT 4"])[0].outcome == "gold_error"


def test_a_gold_query_that_never_ends_is_the_data_s_fault(shop, verifier):
    found = verifier([example(shop, f"{ENDLESS} COUNT(*) FROM r")] * 2, ["SELECT 4", "SELECT 5"])
    assert [score.outcome for score in found] == ["gold_error", "gold_error"]


@pytest.mark.slow
def test_a_batch_of_a_thousand_takes_seconds(shop):
    with SqlVerifier(workers=2) as verifier:
        begun = time.monotonic()
        scores = verifier([example(shop)] * 1000, [f"SELECT {n}" for n in range(1000)])
        assert time.monotonic() - begun < 20
    assert [n for n, score in enumerate(scores) if score.correct] == [4]


@pytest.mark.parametrize("missing", ["database", "query"])
def test_an_incomplete_reference_is_named(shop, verifier, missing):
    reference = {"database": str(shop), "query": "SELECT 1"} | {missing: ""}
    with pytest.raises(ValueError, match=f"'e'.*{missing}"):
        verifier([Prompt("e", "", reference)], ["SELECT 1"])


def test_wrong_use_is_refused(shop, verifier):
    with pytest.raises(ValueError, match="match='exact'"):
        SqlVerifier(match="exact")
    with pytest.raises(ValueError, match="match='exact'"):
        verifier([example(shop, match="exact")], ["SELECT 1"])
    with pytest.raises(ValueError, match="shorter"):
        verifier([example(shop)] * 2, ["SELECT 1"])
