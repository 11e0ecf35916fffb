"""Rows of JSON lines, JSON, CSV and Parquet files, each with its line or row number."""

import csv
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from .errors import argument_error

FileRows: TypeAlias = Iterator[tuple[int, Any]]
"""Values after their line, or row from 0 on; an unreadable row is replaced by its ValueError."""
_LONGEST_CELL, _PARQUET_ROWS = 2**27, 256  # Characters in a CSV cell; rows of a Parquet file in memory.


class CutOffError(ValueError):
    """Error for a file whose last line is incomplete."""


def json_lines(path: Path) -> FileRows:
    """Values of JSON lines without blank lines; a line that is not UTF-8 yields its error."""
    # Only a newline ends a row: JSON may contain the other line separators of Unicode.
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield number, json.loads(line.decode("utf-8-sig"))
                except (ValueError, RecursionError) as error:
                    kind = ValueError if line.endswith(b"\n") else CutOffError
                    yield number, kind(_no_json(error))


def json_document(path: Path) -> Any:
    """Value of a JSON file; ValueError if it is not JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} {_no_json(error)}") from error


def _no_json(error: Exception) -> str:
    return f"is no UTF-8: {error}" if isinstance(error, UnicodeDecodeError) else f"is no valid JSON: {error}"


def csv_rows(path: Path) -> FileRows:
    """Rows of a CSV file with a header, every cell as text; ValueError if it is not CSV in UTF-8.

    The separator is the comma, semicolon or tab that is most frequent in the header.
    """
    longest = csv.field_size_limit(_LONGEST_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            for cells in (reader := csv.DictReader(file, delimiter=max(",;\t", key=header.count))):
                wide = ValueError("has more cells than the header has names") if None in cells else cells
                yield reader.line_num, wide
    except (csv.Error, UnicodeDecodeError) as error:
        raise argument_error("file", str(path), f"CSV in UTF-8 ({error})") from error
    finally:
        csv.field_size_limit(longest)


def parquet_rows(path: Path) -> FileRows:
    """Rows of a Parquet file, some hundred in memory; ValueError without pyarrow, or for another file."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        allowed = "JSON lines or CSV; for Parquet: pip install pyarrow"
        raise argument_error("file", str(path), allowed) from error
    try:
        with ParquetFile(path) as file:
            batches = (batch.to_pylist() for batch in file.iter_batches(_PARQUET_ROWS))
            yield from enumerate(chain.from_iterable(batches))
    except ArrowInvalid as error:
        raise argument_error("file", str(path), f"Parquet ({error})") from error


READERS = {".jsonl": json_lines, ".csv": csv_rows, ".parquet": parquet_rows}  # By file suffix.
