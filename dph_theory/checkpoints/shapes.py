"""The shapes of evaluations' records and of trainers' logs, from `shapes.toml`: what each column holds."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

_TRUTHS = ("gts", "ground_truth", "solution")
"""Columns of the truth: of one text with several, as of pictures and tables, each is a prompt."""
_NUMBERED = re.compile(r"(.*[^\d@])(\d+)")
_LONGEST = 80
_FIRST_ROWS = 5
"""A header, or samples that failed, may stand before the rows by which a shape is recognised."""


class LoggedRow(NamedTuple):
    """A row: its prompt, the cells that may say what is correct, what was said, how many answers it is of.

    `texts` has what was said by column of verdicts, under "" for all of them; `reason` says why a row has no
    verdict, where it does; `truth` what the correct answer is.
    """

    prompt: Any
    cells: Mapping[str, Any]
    texts: Mapping[str, Any]
    drawn: int
    lists: frozenset[int]
    """The lengths of its lists of texts, which may be answers."""
    reason: str = ""
    truth: str = ""


@dataclass(frozen=True)
class Shape:
    """How rows are read, in the words of `shapes.toml`."""

    name: str
    known_by: Sequence[str] = ()
    rows: Sequence[str] = ()
    ids: Mapping[str, int] = field(default_factory=dict)
    prompt: Sequence[str] = ()
    verdicts: Sequence[str] = ("*",)
    listed: str = ""
    variant: str = ""
    answer: Sequence[str] = ()
    drawn: Sequence[str] = ()
    reason: Sequence[str] = ()
    by_step: bool = False
    partial: bool = False
    tokens: bool = False

    def fits(self, row: Any) -> bool:
        """Whether a row has the columns."""
        return isinstance(row, Mapping) and all(column in row for column in self.known_by)

    def row(self, row: Mapping[str, Any], prompt: str, more: Sequence[str] = ()) -> LoggedRow:
        """What a row says of the prompt that the column `prompt` names; `more` columns may be its verdict."""
        flat, columns = dict(flattened(row)), self.verdicts
        if not self.name:
            flat = _folded(flat)
        if self.listed:
            suffix = f",{row.get(self.variant, 'none')}"
            cells = {f"{name}{suffix}": row.get(name) for name in row.get(self.listed) or ()}
        else:
            cells = {name: cell for column in columns for name, cell in _matching(flat, row, column)}
            cells = {name: cell for name, cell in cells.items() if name != prompt}
        cells |= {name: cell for name in more if (cell := within(row, name, flat)) is not None}
        texts = {name: cell for column in self.answer for name, cell in _matching(flat, row, column, "")}
        reason = next((text for column in self.reason if (text := within(row, column)) is not None), "")
        lists = [cell for cell in flat.values() if isinstance(cell, list) and not is_conversation(cell)]
        lists = [cell for cell in lists if cell and not isinstance(cell[0], bool | int | float)]
        truth = next((str(row[name]) for name in _TRUTHS if row.get(name) is not None), "")
        known = (within(row, column) for column in self.drawn)
        drawn = next((cell if type(cell) is int else len(cell) for cell in known if _is_number_of(cell)), 0)
        lengths = frozenset(map(len, lists))
        drawn = drawn or (lengths and not self.drawn and max(lengths)) or 0
        identity = within(row, prompt)
        by_text = isinstance(identity, str) and prompt in ("prompt", "input", "input_prompt")
        return LoggedRow(
            identity, cells, texts, drawn, lengths, str(reason)[:_LONGEST], truth if by_text else ""
        )


def _is_number_of(cell: Any) -> bool:
    return (type(cell) is int and cell > 0) or (isinstance(cell, list) and len(cell) > 0)


SHAPES = tuple(
    Shape(name, **columns)
    for name, columns in tomllib.loads(
        Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8")
    ).items()
)
"""The shapes that are read, the last of which is any other."""


def shape_of(rows: Sequence[Any]) -> Shape:
    """The shape of rows, by the first of them."""
    plain = (shape for shape in SHAPES if shape.known_by and not shape.rows)
    first = rows[:_FIRST_ROWS]
    return next((shape for shape in plain if any(map(shape.fits, first))), SHAPES[-1])


def document_rows(value: Any) -> tuple[Shape | None, list[Any]]:
    """The rows of a JSON document, and their shape where the document shows it."""
    if isinstance(value, Mapping) and {"columns", "data"} <= value.keys():
        return None, [dict(zip(value["columns"], cells, strict=True)) for cells in value["data"]]
    for shape in SHAPES if isinstance(value, Mapping) else ():
        if any(column in value for column in shape.ids):
            verdicts = {i: correct for column, correct in shape.ids.items() for i in value.get(column) or ()}
            return None, [{"instance_id": i, "resolved": correct} for i, correct in verdicts.items()]
        for path in shape.rows:
            rows = [row for row in _entries(value, path.split(".")) if isinstance(row, Mapping)]
            if any(map(shape.fits, rows[:_FIRST_ROWS])):
                return shape, rows
            if rows:
                return None, rows
    return None, value if isinstance(value, list) else [value]


def _entries(value: Any, path: Sequence[str], key: Any = None) -> Iterator[Any]:
    """What a path with stars leads to; an object's entry gets its name as "key"."""
    if not path:
        yield {"key": key, **value} if key is not None and isinstance(value, Mapping) else value
    elif path[0] != "*":
        yield from _entries(value.get(path[0]) if isinstance(value, Mapping) else None, path[1:])
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _entries(entry, path[1:], name)
    elif isinstance(value, list):
        for entry in value:
            yield from _entries(entry, path[1:])


def split_lists(row: Any, prompts: Sequence[str]) -> list[Any]:
    """The rows of one whose columns are lists, an entry a row: where those of the prompt are."""
    names = [column.partition(".")[0] for column in prompts]
    lists = [row[name] for name in names if isinstance(row, Mapping) and isinstance(row.get(name), list)]
    lists = [entries for entries in lists if entries and not is_conversation(entries)]
    if not lists:
        return [row]
    n = len(lists[0])
    alike = {name: isinstance(cell, list) and len(cell) == n for name, cell in row.items()}
    return [{name: cell[i] if alike[name] else cell for name, cell in row.items()} for i in range(n)]


def is_conversation(cell: Any) -> bool:
    """Whether a list is of messages, each with a role."""
    return isinstance(cell, list) and bool(cell) and isinstance(cell[0], Mapping) and "role" in cell[0]


def flattened(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The cells of a row by the names that lead to them, with dots between."""
    for name, cell in row.items():
        if isinstance(cell, Mapping) and cell:
            yield from flattened(cell, f"{before}{name}.")
        else:
            yield f"{before}{name}", cell


def _folded(cells: dict[str, Any]) -> dict[str, Any]:
    """Cells of columns numbered from 0 or 1 on as a list under what their names share."""
    numbered: dict[str, dict[int, str]] = {}
    for name, cell in cells.items():
        if (parts := _NUMBERED.fullmatch(name)) and not isinstance(cell, list):
            numbered.setdefault(parts[1], {})[int(parts[2])] = name
    for stem, names in numbered.items():
        if (
            len(names) > 1
            and sorted(names) == [*range(min(names), min(names) + len(names))]
            and min(names) < 2
        ):
            folded = [cells[names[i]] for i in sorted(names)]
            cells = {name: cell for name, cell in cells.items() if name not in names.values()}
            cells[stem.rstrip("_-. ")] = _Answers(folded)
    return cells


class _Answers(list[Any]):
    """A list that is one of answers whatever it holds, its entries having been columns."""


def is_answers(cell: list[Any], row: LoggedRow) -> bool:
    """Whether a list is of answers, not of tokens: truth values, whole numbers, or as many as texts."""
    plain = all(isinstance(x, bool | int | str) for x in cell)
    return isinstance(cell, _Answers) or plain or len(cell) in row.lists


def _matching(
    cells: Mapping[str, Any], row: Mapping[str, Any], column: str, plain: str | None = None
) -> Iterator[tuple[str, Any]]:
    """The cells that a column with a star leads to, by what it stands for; else the one, as `plain`."""
    if "*" not in column:
        if (cell := within(row, column, cells)) is not None:
            yield column if plain is None else plain, cell
        return
    pattern = re.compile(re.escape(column).replace(r"\*", "(.+)"))
    for name, cell in cells.items():
        if match := pattern.fullmatch(name):
            yield match[1], cell


def within(row: Any, path: str, cells: Mapping[str, Any] | None = None) -> Any:
    """What a column holds, or what leads to it in the words of `shapes.toml`; None where there is none."""
    if isinstance(row, Mapping) and path in row:
        return row[path]
    if cells is not None and path in cells:
        return cells[path]
    if "~" in path:
        path, _, pattern = path.partition("~")
        match = re.search(pattern, str(within(row, path)))
        return match and _number(match[1].strip())
    if "=" in path and "." not in path:
        given, truth = (within(row, side) for side in path.split("=", 1))
        return None if given is None else [str(x).strip() == str(truth).strip() for x in given]
    first, _, rest = path.partition(".")
    if isinstance(row, list) and first.isdigit() and int(first) < len(row):
        row = {first: row[int(first)]}
    inside = row.get(first) if isinstance(row, Mapping) else None
    return inside if not rest else within(inside, rest)


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
