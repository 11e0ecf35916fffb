"""Rows of published data: JSON and JSONL files, and datasets by name, with errors that say which row."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dph_theory.support.errors import argument_error

_TURN = ("role", "content")


class DataRow(NamedTuple):
    """One row, and where it was found."""

    where: str
    values: Mapping[str, Any]

    def text(self, *fields: str) -> str:
        """The first of the fields that the row has, as text; ValueError if none, or no text in it."""
        for field in fields:
            value = self.values.get(field)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
            if value is not None:
                if not isinstance(value, str) or not value.strip():
                    raise argument_error(f"{self.where}: {field}", value, "some text, or a number")
                return value
        raise ValueError(
            f"{self.where} has no field {' or '.join(map(repr, fields))}, only {sorted(self.values)}"
        )

    def conversation(self, field: str) -> tuple[str, tuple[dict[str, str], ...]]:
        """The field as text, and as messages where it is a list of them; ValueError for anything else."""
        value = self.values.get(field)
        if not isinstance(value, list):
            return self.text(field), ()
        for turn in value:
            known = isinstance(turn, dict) and all(isinstance(turn.get(key), str) for key in _TURN)
            if not known:
                raise argument_error(f"{self.where}: {field}", turn, "messages, each with role and content")
        if not value or value[-1]["role"] == "assistant":
            raise argument_error(f"{self.where}: {field}", value, "a conversation that awaits an answer")
        turns = tuple({"role": turn["role"], "content": turn["content"]} for turn in value)
        return "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in turns), turns


def read_rows(
    data: str, *, files: Sequence[str] = (), split: str = "train", subset: str | None = None
) -> list[DataRow]:
    """The rows of `data`: a JSON or JSONL file, a folder that holds one of `files`, or else a dataset.

    A dataset is a folder or a name that `datasets.load_dataset` knows; `split` and `subset` are for it. Code
    that comes with data is never run. ValueError says what is missing, or which line is no JSON object.
    """
    path = Path(data).expanduser()
    if path.is_file():
        rows = _read_file(path)
    else:
        found = [path / name for name in files if (path / name).is_file()]
        rows = _read_file(found[0]) if found else _read_dataset(path, data, split, subset, files)
    if not rows:
        raise argument_error("data", data, "a source with at least one row")
    return rows


def _read_file(path: Path) -> list[DataRow]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8: {error}") from error
    if path.suffix == ".jsonl":
        # Only a newline ends a row: JSON may hold the other line separators of Unicode as they are.
        lines = [(f"{path} line {at}", line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        return [_row(where, _decoded(where, line)) for where, line in lines]
    if path.suffix != ".json":
        raise argument_error("data", str(path), "a .json or .jsonl file, a folder, or the name of a dataset")
    rows = _decoded(str(path), text)
    if not isinstance(rows, list):
        raise ValueError(f"{path} holds no list of rows, but a {type(rows).__name__}")
    return [_row(f"{path} row {number}", row) for number, row in enumerate(rows)]


def _decoded(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is no valid JSON: {error}") from error


def _row(where: str, values: Any) -> DataRow:
    if not isinstance(values, dict):
        raise ValueError(f"{where} is no JSON object, but a {type(values).__name__}")
    return DataRow(where, values)


def _read_dataset(
    path: Path, data: str, split: str, subset: str | None, files: Sequence[str]
) -> list[DataRow]:
    from datasets import load_dataset

    name = str(path) if path.is_dir() else data
    try:
        rows = load_dataset(name, subset, split=split)
    except (OSError, ValueError) as error:
        layout = f" with one of {tuple(files)}" if files else ""
        allowed = f"a JSON or JSONL file, a folder{layout}, or a dataset; as a dataset: {error}"
        raise argument_error("data", data, allowed) from error
    return [_row(f"{name} ({split}) row {number}", row) for number, row in enumerate(rows)]
