"""Formats of evaluations' records and of trainers' logs, from `shapes.toml`: the meaning of each column."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..support.rows import parsed_json
from .counts import MOST_ANSWERS

_TEXTS, _TRUTHS = ("prompt", "input", "input_prompt"), ("gts", "ground_truth", "solution")
"""Columns of a prompt's text and truth; of one text with several truths each is a prompt."""
_NUMBERED = re.compile(r"(.*[^\d@])(\d+)")
_LONGEST = 80
_FIRST_ROWS = 5
"""Rows by which a shape is recognised; a header or failed samples may be among them."""


class LoggedRow(NamedTuple):
    """Content of a logged row.

    Attributes:
        prompt, truth: Name of the prompt, and its true answer if one text has several.
        cells: Cells that may contain rewards, by column.
        texts: Texts of answers by column of rewards; "" for all.
        drawn, lengths: Number of answers drawn, and lengths of the row's lists of texts.
        reason: Why the row has no reward.
    """

    prompt: str
    cells: Mapping[str, Any]
    texts: Mapping[str, Any]
    drawn: int
    lengths: frozenset[int]
    reason: str
    truth: str


@dataclass(frozen=True)
class RecordFormat:
    """Format of rows; the fields are those of `shapes.toml`."""

    name: str
    known_by: Sequence[str] = ()
    rows: Sequence[str] = ()
    ids: Mapping[str, int] = field(default_factory=dict)
    prompt: Sequence[str] = ()
    rewards: Sequence[str] = ("*",)
    listed: str = ""
    variant: str = ""
    answer: Sequence[str] = ()
    drawn: Sequence[str] = ()
    reason: Sequence[str] = ()
    by_step: bool = False
    partial: bool = False
    tokens: bool = False

    def fits(self, row: Any) -> bool:
        """True if a row is an object with all the columns by which the format is known."""
        return isinstance(row, Mapping) and all(column in row for column in self.known_by)

    def row(self, row: Mapping[str, Any], prompt: str, requested: str | None = None) -> LoggedRow:
        """Read a row: prompt from column `prompt`, rewards from the format's or the requested column."""
        cells = dict(flattened(row)) if self.name else _folded(dict(flattened(row)))
        if self.listed:
            form = row.get(self.variant, "none")
            names = _entries(row, [self.listed, "*"])
            rewards = {f"{name},{form}": row.get(str(name)) for name in names}
        else:
            rewards = {name: x for name, x in _matching(cells, row, self.rewards) if name != prompt}
        if requested and (cell := cells.get(requested, within(row, requested))) is not None:
            rewards[requested] = cell
        lists = [x for x in cells.values() if isinstance(x, list) and x and not is_conversation(x)]
        lengths = frozenset(len(x) for x in lists if not isinstance(x[0], bool | int | float))
        sizes = (len(x) if isinstance(x, list) else x for x in _cells(row, self.drawn))
        drawn = [size for size in sizes if type(size) is int and 0 < size <= MOST_ANSWERS]
        if not drawn and (not self.name or not self.drawn):
            drawn = [max(lengths - {1}, default=0)]
        cell = within(row, prompt)
        name, by_text = as_name(cell), prompt in _TEXTS and isinstance(cell, str)
        reason = str(next(_cells(row, self.reason), ""))[:_LONGEST]
        truth = str(next(_cells(row, _TRUTHS if by_text else ()), ""))
        texts = dict(_matching(cells, row, self.answer, ""))
        return LoggedRow(name, rewards, texts, next(iter(drawn), 0), lengths, reason, truth)


_DATA = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8"))
SHAPES = tuple(RecordFormat(name, **columns) for name, columns in _DATA["shapes"].items())
"""Known formats, the last of which is any other."""
WORDS = {word: float(value) for value, words in _DATA["words"].items() for word in words}
"""Rewards in words."""
NAMES = {kind: re.compile("|".join(patterns)) for kind, patterns in _DATA["names"].items()}
"""Patterns of columns' names, by kind."""


def shape_of(rows: Sequence[Any]) -> RecordFormat:
    """Return the format whose columns one of the first rows has; otherwise the last, most general one."""
    plain = (shape for shape in SHAPES if shape.known_by and not shape.rows)
    first = rows[:_FIRST_ROWS]
    return next((shape for shape in plain if any(map(shape.fits, first))), SHAPES[-1])


def document_rows(value: Any) -> tuple[RecordFormat | None, list[Any]]:
    """Return the format of a JSON document's rows (None if the document does not show it) and the rows."""
    if isinstance(value, Mapping) and isinstance(value.get("columns"), list) and "data" in value:
        return None, [dict(zip(value["columns"], cells, strict=True)) for cells in value["data"]]
    for shape in SHAPES if isinstance(value, Mapping) else ():
        if any(column in value for column in shape.ids):
            lists = ((_entries(value, [column, "*"]), correct) for column, correct in shape.ids.items())
            rewards = {str(i): correct for ids, correct in lists for i in ids}
            return None, [{"instance_id": i, "resolved": correct} for i, correct in rewards.items()]
        for path in shape.rows:
            rows = [row for row in _entries(value, path.split(".")) if isinstance(row, Mapping)]
            is_known = any(map(shape.fits, rows[:_FIRST_ROWS]))
            if rows and (is_known or path[0] != "*"):
                return shape if is_known else None, rows
    if isinstance(value, Mapping) and value and all(_is_graded(entry) for entry in value.values()):
        return None, [{"id": name, "correct": rewards} for name, rewards in value.items()]
    return None, value if isinstance(value, list) else [value]


def _is_graded(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(x in (0, 1) for x in value)


def _entries(value: Any, path: Sequence[str], key: Any = None) -> Iterator[Any]:
    """Yield the values at a path whose "*" stands for every entry; an object's name becomes its "key"."""
    if not path:
        yield {"key": key, **value} if key is not None and isinstance(value, Mapping) else value
    elif isinstance(value, list) and path[0].isdigit():
        yield from _entries(value[int(path[0])] if int(path[0]) < len(value) else None, path[1:])
    elif path[0] != "*":
        yield from _entries(value.get(path[0]) if isinstance(value, Mapping) else None, path[1:])
    elif isinstance(value, Mapping | list):
        for name, entry in value.items() if isinstance(value, Mapping) else ((None, x) for x in value):
            yield from _entries(entry, path[1:], name)


def split_lists(row: Mapping[str, Any], prompts: Sequence[str]) -> list[Mapping[str, Any]]:
    """Split a row whose prompt is a list into one row per entry."""
    cells = (row.get(column.partition(".")[0]) for column in prompts)
    lists = [cell for cell in cells if isinstance(cell, list) and cell and not is_conversation(cell)]
    if not lists:
        return [row]
    n = len(lists[0])
    split = {name for name, cell in row.items() if isinstance(cell, list) and len(cell) == n}
    return [{name: cell[i] if name in split else cell for name, cell in row.items()} for i in range(n)]


def as_name(cell: Any) -> str:
    """Return a cell as the name of a prompt: text unchanged, lists and objects as canonical JSON."""
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, sort_keys=True)


def repeated_columns(rows: Sequence[Mapping[str, Any]], *, scalars: bool) -> list[str]:
    """List the columns, or paths in objects and lists, whose cells repeat as those of prompts do.

    They have at most half as many values as there are rows, and are lists of messages, or texts under a name
    of prompts; with `scalars` also columns in which every value is equally frequent.
    """
    texts, even = list[str](), list[str]()
    for name in _paths(rows[0] if rows else {}):
        cells = [within(row, name) for row in rows]
        values = Counter(map(as_name, cells))
        inside = any(name.startswith(f"{outer}.") for outer in texts)
        if None in cells or inside or not 1 < len(values) <= len(rows) // 2:
            continue
        evenly, other = len({*values.values()}) == 1, any(map(NAMES["other"].search, _parts(name)))
        if scalars and evenly and (not other or NAMES["id"].search(_parts(name)[-1])):
            even += [name] if isinstance(cells[0], str) or type(cells[0]) is int else []
        if not other and any(map(NAMES["prompt"].search, _parts(name))) and all(map(is_worded, cells)):
            texts.append(name)
    return [*dict.fromkeys(texts + even)]


def is_worded(cell: Any) -> bool:
    """True if a cell is a list or a text of several words, unlike a number."""
    return isinstance(cell, list) or (isinstance(cell, str) and " " in cell.strip())


def _parts(name: str) -> list[str]:
    return name.lower().split(".")


def _paths(value: Any, before: str = "", depth: int = 4) -> Iterator[str]:
    """Yield dotted paths to the cells of a row, through objects and first entries of lists, `depth` deep."""
    value = {"0": value[0]} if isinstance(value, list) and value else value
    for name, cell in value.items() if depth and isinstance(value, Mapping) else ():
        yield f"{before}{name}"
        yield from _paths(cell, f"{before}{name}.", depth - 1)


def is_conversation(cell: Any) -> bool:
    """True if a list is of messages, each with a role."""
    return isinstance(cell, list) and bool(cell) and isinstance(cell[0], Mapping) and "role" in cell[0]


def flattened(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) for each cell of a row, through nested objects."""
    for name, cell in row.items():
        if isinstance(cell, Mapping) and cell:
            yield from flattened(cell, f"{before}{name}.")
        else:
            yield f"{before}{name}", cell


class Answers(list[Any]):
    """Rewards of answers from numbered columns."""


def _folded(cells: dict[str, Any]) -> dict[str, Any]:
    """Cells with columns numbered from 0 or 1 (a_0, a_1) joined into one list under the shared name."""
    numbered: dict[str, dict[int, str]] = {}
    for name in cells:
        if parts := _NUMBERED.fullmatch(name):
            numbered.setdefault(parts[1], {})[int(parts[2])] = name
    for stem, names in numbered.items():
        if len(names) > 1 and {*names} in ({*range(len(names))}, {*range(1, len(names) + 1)}):
            folded = Answers(cells[names[i]] for i in sorted(names))
            rest = {name: cell for name, cell in cells.items() if name not in names.values()}
            cells = rest | {stem.rstrip("_-. "): folded}
    return cells


def _matching(
    cells: Mapping[str, Any], row: Mapping[str, Any], columns: Sequence[str], plain: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield (text at the star, cell) of matching columns; columns without a star get `plain` as text."""
    for column in columns:
        if "*" not in column:
            if (cell := cells.get(column, within(row, column))) is not None:
                yield column if plain is None else plain, cell
            continue
        pattern = re.compile(re.escape(column).replace(r"\*", "(.+)"))
        yield from ((match[1], cell) for name, cell in cells.items() if (match := pattern.fullmatch(name)))


def _cells(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[Any]:
    return (cell for column in columns if (cell := within(row, column)) is not None)


def within(row: Any, path: str) -> Any:
    """Return the cell at a column or path in the notation of `shapes.toml`; None if there is none."""
    if isinstance(row, Mapping) and path in row:
        return row[path]
    if "~" in path:
        path, _, pattern = path.partition("~")
        match = re.search(pattern, str(within(row, path)))
        return match and plain(match[1].strip())
    if "=" in path and "." not in path:
        given, truth = (within(row, side) for side in path.split("=", 1))
        return None if given is None else [str(x).strip() == str(truth).strip() for x in given]
    first, _, rest = path.partition(".")
    if isinstance(row, list) and first.isdigit() and int(first) < len(row):
        row = {first: row[int(first)]}
    inside = row.get(first) if isinstance(row, Mapping) else None
    return inside if not rest else within(inside, rest)


def plain(text: str) -> Any:
    """Parse text as JSON (number, truth value, list); return it unchanged if it is no JSON or a string."""
    with suppress(ValueError):
        value = parsed_json(text)
        return text if isinstance(value, str) else value
    return text
