"""The worker's side of the SQL verifier: run gold and predicted query, compare, say the outcome."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .compare import Rows, is_ordered, same_multiset, same_set
from .sandbox import QueryLimits, Ran, run
from .worker import Outcome

Key = tuple[Any, ...]


class GoldCache:
    """Results of gold queries, the least recently used given up when together they pass `cells` values."""

    def __init__(self, cells: int) -> None:
        self._cells, self._held = cells, 0
        self._results: OrderedDict[Key, Ran] = OrderedDict()

    def get(self, key: Key, compute: Callable[[], Ran]) -> Ran:
        """The result under a key, computed if it is not held; failures are held too."""
        if key in self._results:
            self._results.move_to_end(key)
            return self._results[key]
        result = self._results[key] = compute()
        self._held += _size(result)
        while self._held > self._cells:
            self._held -= _size(self._results.popitem(last=False)[1])
        return result


def _size(result: Ran) -> int:
    return 1 + sum(map(len, result.rows or ()))


_GOLD = GoldCache(cells=2_000_000)


def judge(job: dict[str, Any]) -> dict[str, str]:
    """The outcome of a predicted `query` on a `database` against the `gold` one.

    `correct`, `wrong`, what `sandbox.run` says of the predicted query, or `gold_error` where the gold query
    itself cannot be run: an error of the data, in which the prediction has no part and is not run.
    """
    database, limits = Path(job["database"]), QueryLimits(*job["limits"])
    gold = _GOLD.get(_identity(database, job["gold"], limits), lambda: run(database, job["gold"], limits))
    if gold.rows is None:
        return {"outcome": Outcome.GOLD_ERROR, "detail": f"{gold.outcome}: {gold.detail}"}
    predicted = run(database, job["query"], limits)
    if predicted.rows is None:
        return {"outcome": predicted.outcome, "detail": predicted.detail}
    same = _same(job["match"], job["gold"], gold.rows, predicted.rows)
    return {"outcome": Outcome.CORRECT if same else Outcome.WRONG}


def _identity(database: Path, gold: str, limits: QueryLimits) -> Key:
    """What a gold result depends on: the file as it is now, the query, the limits."""
    if not database.exists():
        return (database, gold, limits)
    state = database.stat()
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, gold, limits)


def _same(match: str, query: str, gold: Rows, predicted: Rows) -> bool:
    if match == "bird":
        return same_set(gold, predicted)
    return same_multiset(gold, predicted, ordered=is_ordered(query))
