"""The SQL verifier: execution match on SQLite, in sandboxed worker processes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dph_theory.support.errors import argument_error

from ..protocol import Example, Score
from .extract import last_sql
from .pool import Limits, Pool
from .sandbox import QueryLimits

MATCHES = ("bird", "spider")


class SqlVerifier:
    """Scores completions by what their last query returns, against the gold query of the example.

    An example's `reference` holds `database` (a path), `query` (the gold one), and possibly `match`: `bird`
    compares sets of rows, `spider` multisets up to the order of columns, ordered where the gold query is (see
    `compare`); `match` here is for examples without one. Outcomes: `correct`, `wrong`, `no_answer`, `error`,
    `forbidden`, `timeout`, `memory`, `too_many_rows`, `crash`, and `gold_error`, which is the data's fault.
    Only `correct` scores one. The databases are opened read-only and must not change meanwhile.

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
        self._match, self._style = _known(match), style
        # Half of the memory is SQLite's: what it refuses is an outcome, what the kernel refuses may be a
        # crash.
        self._limits = QueryLimits(seconds, rows, memory // 2)
        # A job runs the gold query too.
        self._pool = Pool(
            "full_scale.tasks.verifiers.sql_judge:judge", Limits(2 * seconds + 1, memory), workers
        )

    def __enter__(self) -> "SqlVerifier":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def __call__(self, examples: Sequence[Example], completions: Sequence[str]) -> list[Score]:
        """One score for each pair; what occurs more than once is run once."""
        pairs = [(e, last_sql(c)) for e, c in zip(examples, completions, strict=True)]
        jobs = {self._key(example, query): None for example, query in pairs if query}
        replies = dict(zip(jobs, self._pool.map([self._job(*key) for key in jobs]), strict=True))
        scores = []
        for example, query in pairs:
            reply = replies[self._key(example, query)] if query else {"outcome": "no_answer"}
            style = self._style(query) if self._style and query else None
            scores.append(Score(reply["outcome"] == "correct", reply["outcome"], style))
        return scores

    def _key(self, example: Example, query: str) -> tuple[str, str, str, str]:
        reference = example.reference
        for name in ("database", "query"):
            if not reference.get(name):
                raise argument_error(f"reference of {example.id!r}", dict(reference), f"needs {name!r}")
        match = _known(reference.get("match", self._match))
        return str(reference["database"]), reference["query"], query, match

    def _job(self, database: str, gold: str, query: str, match: str) -> Mapping[str, Any]:
        return {"database": database, "gold": gold, "query": query, "match": match, "limits": self._limits}


def _known(match: str) -> str:
    if match not in MATCHES:
        raise argument_error("match", match, f"one of {MATCHES}")
    return match
