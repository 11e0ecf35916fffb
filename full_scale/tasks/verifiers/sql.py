"""SQL verifier: execution match on SQLite, in sandboxed worker processes."""

from collections.abc import Callable
from typing import Any

from dph_theory.support.errors import choice

from ..protocol import Prompt
from .extract import last_sql
from .pool import Job, Limits, PooledVerifier, required_fields
from .sandbox import QueryLimits

MATCHES = ("bird", "spider", "test-suite")


class SqlVerifier(PooledVerifier):
    """Scores completions by the result of their last query, against the gold query of the example.

    An example's `reference` has `database` (a path), `query` (the gold one), and optionally `match`: `bird`
    compares sets of rows; `spider` compares multisets up to the order of columns, ordered if the gold query
    is (see `compare`); `test-suite` is Spider's official default evaluation: as `spider`, without DISTINCT in
    both queries, and ordered if ORDER BY occurs anywhere in the gold one. `match` here applies to examples
    without one; `test-suite` also to those of Spider. The databases are opened read-only and must not change
    meanwhile.

    `seconds` (of computing) and `rows` bound each query, `memory` (bytes) each worker; `style` names the
    style of a query. Raises ValueError for an incomplete reference; RuntimeError if no worker can be started.
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
        # Half of the memory is SQLite's: its refusal is an outcome, whereas the kernel's may be a crash.
        self._limits = QueryLimits(seconds, rows, memory // 2)
        # A job runs the gold query too.
        super().__init__(
            "full_scale.tasks.verifiers.sql_judge:judge", Limits(2 * seconds + 1, memory), workers
        )

    @property
    def bound(self) -> dict[str, Any]:
        """Settings on which rewards depend: the comparison of results, and the limit of rows."""
        return {"match": self._match, "rows": self._limits.rows}

    def match_of(self, example: Prompt) -> str:
        """Comparison mode for an example, one of MATCHES: its own, or the verifier's."""
        match = example.reference.get("match", self._match)
        match = self._match if (match, self._match) == ("spider", "test-suite") else match
        choice("match", match, MATCHES)
        return str(match)

    def job(self, example: Prompt, completion: str) -> Job | None:
        """Job for the judge: last and gold query, database, comparison and limits; None without a query."""
        query = last_sql(completion)
        if not query:
            return None
        database, gold = required_fields(example, "database", "query")
        match = self.match_of(example)
        comparison = {"database": str(database), "gold": gold, "query": query, "match": match}
        return {**comparison, "limits": self._limits}

    def style(self, job: Job) -> str | None:
        """Style of the job's query, or None."""
        return self._style(job["query"]) if self._style else None
