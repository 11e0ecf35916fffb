"""Rows of JSON lines, JSON, CSV and Parquet files, each with its line or row number.

Names of an object that appear twice are refused, and so are compressed files that would fill the memory.
"""

import csv
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from .errors import argument_error
from .files import require_unpackable

FileRows: TypeAlias = Iterator[tuple[int, Any]]
"""Values after their line, or row from 0 on; an unreadable row is replaced by its ValueError."""
_LONGEST_CELL, _PARQUET_ROWS = 2**27, 256  # Characters in a CSV cell; rows of a Parquet file in memory.


class CutOffError(ValueError):
    """Error for a file whose last line is incomplete."""


def parsed_json(text: str | bytes) -> Any:
    """Value of a JSON text.

    Raises:
        ValueError: If the text is not JSON in UTF-8, is nested too deeply, or repeats a name in an object.
    """
    try:
        text = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        return json.loads(text, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8: {error}") from error
    except RecursionError as error:
        raise ValueError("is no valid JSON: it is nested too deeply") from error
    except ValueError as error:
        words = str(error).partition("; use sys.set_int")[0]
        raise ValueError(f"is no valid JSON: {words}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"the name {repeated[:60]!r} appears twice in an object")
    return values


def json_lines(path: Path) -> FileRows:
    """Values of JSON lines without blank lines; a line that is not UTF-8 yields its error."""
    # Only a newline ends a row: JSON may contain the other line separators of Unicode.
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    yield number, parsed_json(line)
                except ValueError as error:
                    yield number, error if line.endswith(b"\n") else CutOffError(str(error))


def json_document(path: Path) -> Any:
    """Value of a JSON file; ValueError if it is not JSON."""
    try:
        return parsed_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} {error}") from error.__cause__


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
    """Rows of a Parquet file, some hundred in memory.

    Raises:
        ValueError: If pyarrow is missing, or the file is damaged or would fill the memory.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        allowed = "JSON lines or CSV; for Parquet: pip install pyarrow"
        raise argument_error("file", str(path), allowed) from error
    try:
        with ParquetFile(path, page_checksum_verification=True) as file:
            texts = [file.schema.column(i) for i in range(len(file.schema))]
            paths = [
                x.path for x in texts if x.physical_type == "BYTE_ARRAY" and x.converted_type != "DECIMAL"
            ]
        # As dictionaries, in which a text that repeats is stored once.
        with ParquetFile(path, read_dictionary=paths) as file:
            columns = (column for batch in file.iter_batches(_PARQUET_ROWS) for column in batch.columns)
            require_unpackable(path, map(_unpacked_bytes, columns))
        with ParquetFile(path, page_checksum_verification=True) as file:
            batches = (batch.to_pylist() for batch in file.iter_batches(_PARQUET_ROWS))
            yield from enumerate(chain.from_iterable(batches))
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        words = str(error).splitlines()[0]
        raise argument_error("file", str(path), f"Parquet without damage ({words})") from error


def _unpacked_bytes(array: Any) -> int:
    """Bytes of an Arrow array once each text of its dictionaries is stored in each row."""
    from pyarrow import compute, types

    if types.is_dictionary(array.type):
        lengths = compute.binary_length(array.dictionary)
        return int(compute.sum(compute.take(lengths, array.indices)).as_py() or 0)
    if types.is_struct(array.type):
        return sum(map(_unpacked_bytes, array.flatten()))
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _unpacked_bytes(array.flatten())
    return int(array.nbytes)


READERS = {".jsonl": json_lines, ".csv": csv_rows, ".parquet": parquet_rows}  # By file suffix.
