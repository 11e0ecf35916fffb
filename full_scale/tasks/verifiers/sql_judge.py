"""Worker side of the SQL verifier: run gold and predicted query, and compare as BIRD or Spider does."""

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from .sandbox import QueryLimits, Ran, run
from .worker import JudgeOutcome

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Tolerance between floats: only the effect of summation in another order."""

Rows = Sequence[tuple[Any, ...]]

_LEXEME = re.compile(
    r"(?P<skip>\s+|--[^\n]*|/\*.*?(?:\*/|$))"
    r"|(?P<text>'(?:[^']|'')*')"
    r'|(?P<quoted>"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])'
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<other>\d+(?:\.\d+)?|<>|!=|<=|>=|\|\||.)",
    re.DOTALL,
)


class Word(NamedTuple):
    """A word of a query, and the number of open parentheses around it."""

    kind: str  # `word`, `quoted` (a name), `text` or `other`.
    text: str  # Names in upper case, without quotes.
    depth: int


def words(query: str) -> list[Word]:
    """Words of a query with their kind and depth of parentheses, without comments."""
    query_words: list[Word] = []
    depth = 0
    for match in _LEXEME.finditer(query):
        kind, text = str(match.lastgroup), match.group()
        if kind == "skip":
            continue
        depth -= text == ")"
        name = text.strip('"`[]').upper() if kind in ("word", "quoted") else text
        query_words.append(Word(kind, name, depth))
        depth += text == "("
    return query_words


def same_set(gold: Rows, predicted: Rows) -> bool:
    """BIRD's execution match: equality as sets of rows.

    Order and repeats of rows are ignored, the order of columns is not; two empty results are equal whatever
    their columns. NULL equals NULL, 1 equals 1.0, and '1' does not equal 1. Columns are compared by position,
    so duplicate names are no problem. Source: the benchmark's own evaluation, which is exact on floats.
    """
    return _up_to_rounding(lambda a, b: set(a) == set(b), gold, predicted)


def same_multiset(gold: Rows, predicted: Rows, *, ordered: bool) -> bool:
    """Spider's execution match: equal multisets of rows (`ordered`: lists) for some order of columns.

    A question of Spider does not specify the order of its columns, so its evaluation by test suites
    accepts every permutation, as does this. Two empty results are equal. DISTINCT counts. Rows that tie
    in the gold query's order must appear in the order of its result, as there.
    """
    return _up_to_rounding(lambda a, b: _same_columns(a, b, ordered), gold, predicted)


def without_distinct(query: str) -> str:
    """Remove the words DISTINCT from a query, as Spider's evaluation does; strings are unchanged."""
    distinct = [m.span() for m in _LEXEME.finditer(query) if m["word"] and m["word"].upper() == "DISTINCT"]
    for start, stop in reversed(distinct):
        query = query[:start] + query[stop:]
    return query


def is_ordered(query: str) -> bool:
    """True if the query has ORDER BY outside of strings, comments and parentheses."""
    pairs = pairwise(words(query))
    return any(a[:2] == ("word", "ORDER") and b[:2] == ("word", "BY") and not a.depth for a, b in pairs)


def _up_to_rounding(same: Callable[[Rows, Rows], bool], gold: Rows, predicted: Rows) -> bool:
    """True if `same` accepts the results, exactly or with close floats taken as equal."""
    if same(gold, predicted):
        return True
    numbers = {value for value in chain(*gold, *predicted) if isinstance(value, int | float)}
    if not any(isinstance(value, float) for value in numbers):
        return False
    one = _classes(numbers)
    rounded = ([tuple(one.get(value, value) for value in row) for row in rows] for rows in (gold, predicted))
    return same(*rounded)


def _classes(numbers: set[int | float]) -> dict[Any, int | float]:
    """Representative of each number, equal for runs of close floats; whole numbers stay distinct."""
    # Distinct whole numbers are never in one run, however large, because they may be identifiers.
    classes: dict[Any, int | float] = {}
    first, last, has_whole = math.nan, math.nan, False
    for number in sorted(numbers):
        close = math.isclose(number, last, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        close = close and not (_is_exact(number) or _is_exact(last))
        if not close or (has_whole and _is_whole(number)):
            first, has_whole = number, False
        has_whole = has_whole or _is_whole(number)
        classes[number], last = first, number
    return classes


def _is_exact(number: int | float) -> bool:
    """True for a whole number that float64 may not represent."""
    return isinstance(number, int) and abs(number) > 2**53


def _is_whole(number: int | float) -> bool:
    # Above 2**53 every float is whole, so being whole carries no information.
    return isinstance(number, int) or (abs(number) < 2**53 and number % 1 == 0)


def _same_columns(gold: Rows, predicted: Rows, ordered: bool) -> bool:
    if len(gold) != len(predicted) or not gold:
        return len(gold) == len(predicted)
    if len(gold[0]) != len(predicted[0]):
        return False
    bag: Callable[[Sequence[Any]], Any] = tuple if ordered else Counter
    return _match([*zip(*gold, strict=True)], [*zip(*predicted, strict=True)], [], bag)


def _match(
    gold: Rows, left: Rows, chosen: list[tuple[Any, ...]], bag: Callable[[Sequence[Any]], Any]
) -> bool:
    """True if columns `left` can follow the `chosen` ones so that all together equal the gold columns."""
    # The rows over the first columns must agree at every step, which leaves few ways to try.
    if not left:
        return True
    size = len(chosen) + 1
    gold_bag = bag([*zip(*gold[:size], strict=True)])
    for column in dict.fromkeys(left):  # equal columns are interchangeable
        if bag([*zip(*chosen, column, strict=True)]) == gold_bag:
            rest = list(left)
            rest.remove(column)
            if _match(gold, rest, [*chosen, column], bag):
                return True
    return False


Key = tuple[Any, ...]


class GoldCache:
    """Cache of gold results that evicts the least recently used once together they exceed `cells` values."""

    def __init__(self, cells: int) -> None:
        self._cells, self._held = cells, 0
        self._results: OrderedDict[Key, Ran] = OrderedDict()

    def get(self, key: Key, compute: Callable[[], Ran]) -> Ran:
        """Result under a key, computed on a miss; failures are cached too."""
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
    """Outcome of a predicted `query` on a `database` against the `gold` one.

    `correct`, `wrong`, the outcome of `sandbox.run` for the predicted query, `unreadable` if the database
    cannot be read, or `gold_error` if the gold query cannot be run: an error of the data, after which the
    prediction is not run.
    """
    database, limits = Path(job["database"]), QueryLimits(*job["limits"])
    gold_query, query = job["gold"], job["query"]
    if job["match"] == "test-suite":
        gold_query, query = without_distinct(gold_query), without_distinct(query)
    gold = _GOLD.get(_identity(database, gold_query, limits), lambda: run(database, gold_query, limits))
    if gold.outcome == JudgeOutcome.UNREADABLE:
        return {"outcome": JudgeOutcome.UNREADABLE, "detail": f"{database}: {gold.detail}"}
    if gold.rows is None:
        return {"outcome": JudgeOutcome.GOLD_ERROR, "detail": f"{gold.outcome}: {gold.detail}"}
    predicted = run(database, query, limits)
    if predicted.outcome == JudgeOutcome.UNREADABLE:
        # It is the database's fault only if the gold query fails in the same way now.
        again = run(database, gold_query, limits).outcome
        outcome = again if again == JudgeOutcome.UNREADABLE else JudgeOutcome.ERROR
        return {"outcome": outcome, "detail": f"{database}: {predicted.detail}"}
    if predicted.rows is None:
        return {"outcome": predicted.outcome, "detail": predicted.detail}
    same = _same(job["match"], job["gold"], gold.rows, predicted.rows)
    return {"outcome": JudgeOutcome.CORRECT if same else JudgeOutcome.WRONG}


def _identity(database: Path, gold: str, limits: QueryLimits) -> Key:
    """Key of a gold result: the file as it is now, the query, the limits."""
    if not database.exists():
        return (database, gold, limits)
    state = database.stat()
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, gold, limits)


def _same(match: str, query: str, gold: Rows, predicted: Rows) -> bool:
    if match == "bird":
        return same_set(gold, predicted)
    ordered = "order by" in query.lower() if match == "test-suite" else is_ordered(query)
    return same_multiset(gold, predicted, ordered=ordered)
