"""The SQL verifier: execution match on SQLite, in sandboxed worker processes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from dph_theory.support.errors import argument_error, choice

from ..protocol import Prompt
from .extract import last_sql
from .pool import Job, Limits, PooledVerifier
from .sandbox import QueryLimits

MATCHES = ("bird", "spider")


class SqlQuestion(NamedTuple):
    """Whether `query` answers what `gold` does on a database, by one of MATCHES."""

    database: str
    gold: str
    query: str
    match: str


class SqlVerifier(PooledVerifier[SqlQuestion]):
    """Scores completions by what their last query returns, against the gold query of the example.

    An example's `reference` holds `database` (a path), `query` (the gold one), and possibly `match`: `bird`
    compares sets of rows, `spider` multisets up to the order of columns, ordered where the gold query is (see
    `compare`); `match` here is for examples without one. The databases are opened read-only and must not
    change meanwhile.

    `seconds` (of computing) and `rows` bound each query, `memory` (bytes) each worker; `style` names the
    style of a query. ValueError for a reference that is incomplete; RuntimeError if no worker can be started.
    """

    def __init__(
        self,
        *,
        match: str = "bird",
        seconds: float = 30.0,
        rows: int = 100_000,
        memory: int = 2**30,
        workers: int | None = None,
        style: Callable[[str], str | None] | None = None,
    ) -> None:
        choice("match", match, MATCHES)
        self._match, self._style = match, style
        # Half of the memory is SQLite's: what it refuses is an outcome, what the kernel refuses may be a
        # crash.
        self._limits = QueryLimits(seconds, rows, memory // 2)
        # A job runs the gold query too.
        super().__init__(
            "full_scale.tasks.verifiers.sql_judge:judge", Limits(2 * seconds + 1, memory), workers
        )

    @property
    def bound(self) -> dict[str, Any]:
        """How results are compared, and how many rows of them."""
        return {"match": self._match, "rows": self._limits.rows}

    def question(self, example: Prompt, completion: str) -> SqlQuestion | None:
        """The completion's last query, with the gold one and its database."""
        query, reference = last_sql(completion), example.reference
        if not query:
            return None
        for name in ("database", "query"):
            if not reference.get(name):
                raise argument_error(f"reference of {example.id!r}", dict(reference), f"needs {name!r}")
        match = reference.get("match", self._match)
        choice("match", match, MATCHES)
        return SqlQuestion(str(reference["database"]), reference["query"], query, match)

    def job(self, question: SqlQuestion) -> Job:
        """The question under this verifier's limits."""
        return {**question._asdict(), "limits": self._limits}

    def style(self, question: SqlQuestion) -> str | None:
        """The style of the completion's query."""
        return self._style(question.query) if self._style else None
