"""The SQL verifier: execution match on SQLite, in sandboxed worker processes."""

from collections.abc import Callable
from typing import Any

from dph_theory.support.errors import choice

from ..protocol import Prompt
from .extract import last_sql
from .pool import Job, Limits, PooledVerifier, required_fields
from .sandbox import QueryLimits

MATCHES = ("bird", "spider", "test-suite")


class SqlVerifier(PooledVerifier):
    """Scores completions by what their last query returns, against the gold query of the example.

    An example's `reference` holds `database` (a path), `query` (the gold one), and possibly `match`: `bird`
    compares sets of rows, `spider` multisets up to the order of columns, ordered where the gold query is (see
    `compare`), `test-suite` as Spider's official evaluation does by default: as `spider`, DISTINCT
    left out of both queries, and ordered where ORDER BY stands anywhere in the gold one. `match` here is for
    examples without one; `test-suite` for those of Spider too. The databases are opened read-only and must
    not change meanwhile.

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

    def match_of(self, example: Prompt) -> str:
        """How answers to an example are compared."""
        match = example.reference.get("match", self._match)
        match = self._match if (match, self._match) == ("spider", "test-suite") else match
        choice("match", match, MATCHES)
        return str(match)

    def job(self, example: Prompt, completion: str) -> Job | None:
        """The completion's last query, with the gold one, its database and the limits."""
        query = last_sql(completion)
        if not query:
            return None
        database, gold = required_fields(example, "database", "query")
        match = self.match_of(example)
        comparison = {"database": str(database), "gold": gold, "query": query, "match": match}
        return {**comparison, "limits": self._limits}

    def style(self, job: Job) -> str | None:
        """The style of the completion's query."""
        return self._style(job["query"]) if self._style else None
