"""Sandbox for one query on one SQLite database: read-only, with limits on time and memory."""

import contextlib
import sqlite3
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from .worker import JudgeOutcome

STEPS_BETWEEN_LOOKS = 20_000
"""Instructions of SQLite's virtual machine between two checks of the clock: at most a millisecond."""
HOT_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""First bytes of a rollback journal once the database file itself may have been written to."""

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
# Virtual tables open to queries: they read only their arguments.
_TABLE_FUNCTIONS = {"json_each", "json_tree"}
_FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer"}
_SETTINGS = (
    "query_only = 1",
    "temp_store = MEMORY",
    "mmap_size = 0",
    "trusted_schema = 0",
    "cell_size_check = 1",
)
_CAPS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_OUTCOMES = {
    "SQLITE_INTERRUPT": JudgeOutcome.TIMEOUT,
    "SQLITE_NOMEM": JudgeOutcome.MEMORY,
    "SQLITE_TOOBIG": JudgeOutcome.MEMORY,
    **dict.fromkeys(
        (
            "SQLITE_CANTOPEN",
            "SQLITE_NOTADB",
            "SQLITE_CORRUPT",
            "SQLITE_IOERR",
            "SQLITE_BUSY",
            "SQLITE_LOCKED",
        ),
        JudgeOutcome.UNREADABLE,
    ),
}

Rows = list[tuple[Any, ...]]


class QueryLimits(NamedTuple):
    """Limits of one query: seconds of computing, rows of result, bytes that SQLite allocates.

    Computing time, so that no reward depends on the machine's load; the pool limits wall-clock time.
    """

    seconds: float = 30.0
    rows: int = 100_000
    memory: int = 2**29


class Ran(NamedTuple):
    """Rows of a query, or its failure."""

    rows: Rows | None
    outcome: str = "ran"
    detail: str = ""


def run(database: Path, query: str, limits: QueryLimits) -> Ran:
    """Run one statement that only reads.

    Outcomes beside `ran`: `forbidden` (a statement that writes, attaches, sets a pragma, opens a transaction,
    or loads or makes a virtual table), `timeout`, `memory`, `too_many_rows`, `error` for a refusal by SQLite
    and for more or less than one statement, and `unreadable` for a database that is missing, corrupt or in
    the middle of a change. The bound on memory then applies to all of SQLite in this process.
    """
    guard = _Guard(limits.seconds)
    try:
        opened = connect(database)
    except (sqlite3.Error, OSError) as error:
        return Ran(None, JudgeOutcome.UNREADABLE, str(error))
    try:
        with contextlib.closing(opened) as connection:
            connection.execute(f"PRAGMA hard_heap_limit = {limits.memory}")
            guard.watch(connection)
            cursor = connection.execute(query)
            if cursor.description is None:
                return Ran(None, JudgeOutcome.ERROR, "no query")
            rows = cursor.fetchmany(limits.rows + 1)
    except MemoryError:
        return Ran(None, JudgeOutcome.MEMORY)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        # sqlite3.Warning: more than one statement; ValueError: a null character, or half a surrogate pair.
        name = "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])
        return Ran(
            None,
            JudgeOutcome.FORBIDDEN if guard.denied else _OUTCOMES.get(name, JudgeOutcome.ERROR),
            str(error),
        )
    if len(rows) > limits.rows:
        return Ran(None, JudgeOutcome.TOO_MANY_ROWS, f"more than {limits.rows}")
    return Ran(rows)


def connect(database: Path) -> sqlite3.Connection:
    """Open a connection that reads the file unchanged: no lock, and nothing written beside it.

    Another process's lock does not block it, but the file must be complete. Raises sqlite3.OperationalError
    if it is missing or empty, or if a write-ahead log or a hot journal beside it has a part of its content.
    Text that is not UTF-8, as in some published databases, is preserved byte for byte by surrogates.
    """
    if not database.is_file():
        raise sqlite3.OperationalError(f"there is no database {database}")
    if not database.stat().st_size:
        raise sqlite3.OperationalError(f"{database} is an empty file")
    log, journal = (database.with_name(database.name + suffix) for suffix in ("-wal", "-journal"))
    if log.is_file() and log.stat().st_size:
        raise sqlite3.OperationalError(f"{log} holds changes that the database lacks: checkpoint it")
    if journal.is_file():
        with journal.open("rb") as file:
            if file.read(len(HOT_JOURNAL)) == HOT_JOURNAL:
                raise sqlite3.OperationalError(f"{journal} stands for a half-written change: roll it back")
    uri = f"file:{quote(str(database.resolve()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.executescript("".join(f"PRAGMA {setting};" for setting in _SETTINGS))
    except sqlite3.Error:
        connection.close()
        raise
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    return connection


@cache
def _closed_tables() -> frozenset[str]:
    """Names of SQLite's virtual tables that no query may read."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        tables = {name for (name,) in connection.execute("PRAGMA module_list")}
    return frozenset(tables - _TABLE_FUNCTIONS)


class _Guard:
    """Read-only access with a time limit; SQL cannot lift it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.denied = seconds, False
        self.deadline: float | None = None
        self.closed: frozenset[str] = frozenset()

    def watch(self, connection: sqlite3.Connection) -> None:
        self.closed = _closed_tables()
        for kind, cap in _CAPS.items():
            connection.setlimit(kind, cap)
        connection.set_progress_handler(self._is_late, STEPS_BETWEEN_LOOKS)
        connection.set_authorizer(self._authorize)

    def _is_late(self) -> bool:
        """True once the query has used its processor time, counted from the first call."""
        if self.deadline is None:
            self.deadline = time.process_time() + self.seconds
        return time.process_time() > self.deadline

    def _authorize(self, action: int, table: str | None, name: str | None, *_rest: str | None) -> int:
        function = action == sqlite3.SQLITE_FUNCTION and str(name).lower() not in _FORBIDDEN_FUNCTIONS
        read = action in _READS and str(table).lower() not in self.closed
        # SQLite's own request when it declares a virtual table's columns. SQLite refuses the request from a
        # query: this table may not be modified, and nothing may be in a read-only database.
        declared = action == sqlite3.SQLITE_UPDATE and table == "sqlite_master"
        # FTS5 requests it before it reads its own table; it sets nothing.
        version = action == sqlite3.SQLITE_PRAGMA and (table, name) == ("data_version", None)
        if function or read or declared or version:
            return sqlite3.SQLITE_OK
        self.denied = True
        return sqlite3.SQLITE_DENY
