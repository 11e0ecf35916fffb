"""The rehearsal buffer of correct completions of the initial model, and the rows that each step rehearses."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import torch
from jaxtyping import Float32, Int64
from pyarrow import compute, ipc, parquet
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import replacing, write_json

from ..storage.tensors import storing

BUFFER, MANIFEST = "buffer.arrow", "manifest.json"
_MAKE = "run dph presample --config ..."
_IDS = pyarrow.large_list(pyarrow.int32())
_SCHEMA = pyarrow.schema(
    {
        "example_id": pyarrow.string(),
        "prompt_ids": _IDS,
        "completion_ids": _IDS,
        "ref_logps": pyarrow.large_list(pyarrow.float32()),
    }
)


class RehearsalRow(NamedTuple):
    """A completion of the initial model, with the model's log-probability of each token."""

    example_id: str
    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    ref_logps: Sequence[float] = ()


def table_of(rows: Iterable[RehearsalRow]) -> pyarrow.Table:
    """Convert rows to a table with one column per field."""
    return pyarrow.Table.from_pylist([row._asdict() for row in rows], _SCHEMA)


def packed(table: pyarrow.Table) -> str:
    """Encode a table as text for a line of a journal: a parquet file in base 64."""
    file = BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return base64.b64encode(file.getbuffer()).decode()


def unpacked(text: str) -> pyarrow.Table:
    """Decode the table of a `packed` text; ValueError for any other text."""
    return parquet.read_table(BytesIO(base64.b64decode(text, validate=True))).cast(_SCHEMA)


def scored(table: pyarrow.Table) -> pyarrow.Table:
    """Return the table; ValueError if a row lacks a prompt, a completion or finite log-probabilities."""
    prompt, tokens, scores = (_counts(table, name) for name in _SCHEMA.names[1:])
    wrong = np.flatnonzero((prompt == 0) | (tokens == 0) | (scores != tokens))
    if len(wrong) or not np.isfinite(_flat(table)).all():
        names = table["example_id"].take(wrong[:1]).to_pylist()
        allowed = "tokens of prompt and completion, and a finite log-probability for each of the latter"
        raise argument_error("rows", names or "NaN or inf", allowed)
    return table


@dataclass(frozen=True, eq=False, repr=False)
class RehearsalBuffer:
    """A table of rows with one column per field, and the manifest of their origin."""

    table: pyarrow.Table
    manifest: Mapping[str, Any]
    """model_hash, tokenizer_hash, temperature, seed, dtype, count, digest."""

    @classmethod
    def from_rows(cls, rows: Sequence[RehearsalRow], manifest: Mapping[str, Any]) -> "RehearsalBuffer":
        """Build a buffer in memory from rows; ValueError as in `scored`."""
        table = scored(table_of(rows))
        return cls(table, {**manifest, **_written(BytesIO(), [table])})

    def __len__(self) -> int:
        return self.table.num_rows

    def __repr__(self) -> str:
        return f"RehearsalBuffer of {len(self)} rows"

    @cached_property
    def lengths(self) -> Int64[Tensor, " rows"]:
        """Number of completion tokens of each row."""
        return torch.from_numpy(_counts(self.table, "completion_ids"))

    @property
    def ref_logps(self) -> Float32[Tensor, " tokens"]:
        """Log-probabilities of the completion tokens of all rows, concatenated."""
        return torch.from_numpy(_flat(self.table))

    def with_reference(self, ref_logps: Float32[Tensor, " tokens"]) -> "RehearsalBuffer":
        """Copy the buffer with other log-probabilities, ordered as in `ref_logps`."""
        ends = np.concatenate([[0], self.lengths.numpy().cumsum()])
        rows = pyarrow.LargeListArray.from_arrays(ends, ref_logps.numpy())
        at = self.table.schema.get_field_index("ref_logps")
        return RehearsalBuffer(self.table.set_column(at, "ref_logps", rows), self.manifest)

    def by_length(self, rows: Sequence[int]) -> list[int]:
        """Sort rows by their number of prompt and completion tokens, the shortest first."""
        tokens = _counts(self.table, "prompt_ids") + self.lengths.numpy()
        return sorted(rows, key=lambda row: int(tokens[row]))

    @property
    def digest(self) -> str:
        """The sha256 of the rows, without the rest of the manifest."""
        return self.manifest["digest"]

    @classmethod
    def store(
        cls, folder: Path, tables: Iterable[pyarrow.Table], manifest: Mapping[str, Any]
    ) -> "RehearsalBuffer":
        """Write buffer.arrow table by table, then manifest.json with the digest; each write is atomic.

        The columns example_id, prompt_ids, completion_ids and ref_logps (one value per completion token) also
        suit other trainers. Only one table is in memory at a time.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with storing(folder), replacing(folder / BUFFER) as part, part.open("wb+") as file:
            written = _written(file, tables)
        write_json(folder / MANIFEST, {**manifest, **written})
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> "RehearsalBuffer":
        """Open the buffer in a folder, with its rows on the disk; RefusedError if it is missing or does not
        match its manifest.
        """
        for name in (MANIFEST, BUFFER):
            if not (folder / name).is_file():
                raise RefusedError(f"no rehearsal buffer in {folder}, where {name} is missing: {_MAKE}")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            with (folder / BUFFER).open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == manifest["digest"]
        except (ValueError, KeyError, OSError) as error:
            raise RefusedError(f"the rehearsal buffer in {folder} is damaged ({error}): {_MAKE}") from error
        if not same:
            raise RefusedError(f"{folder / BUFFER} does not match its manifest: {_MAKE}")
        return cls(ipc.open_file(pyarrow.memory_map(str(folder / BUFFER))).read_all(), manifest)

    def check(self, **expected: Any) -> None:
        """Raise RefusedError unless the manifest has these model_hash, tokenizer_hash or temperature."""
        for name, value in expected.items():
            if self.manifest.get(name) != value:
                raise RefusedError(
                    f"the rehearsal buffer was made with {name}={self.manifest.get(name)!r}, and this run "
                    f"has {value!r}: {_MAKE} with this run's model, tokenizer and temperature"
                )

    def rows(self, start: int = 0, stop: int | None = None) -> list[RehearsalRow]:
        """Read the rows of a slice, by default all rows."""
        count = None if stop is None else stop - start
        return [RehearsalRow(**row) for row in self.table.slice(start, count).to_pylist()]

    def batch(self, indices: Sequence[int], pad_id: int) -> dict[str, Tensor]:
        """Collate rows into a batch as wide as the longest row: prompt and completion joined, left-padded.

        ids and attention_mask have shape (rows, width); completion_mask and ref_logps (rows, tokens) cover
        the last columns, as many as the longest completion has, with 0 at prompt and padding. Masks are
        int64.
        """

        def padded(pieces: Iterable[Sequence[float]], fill: float = 0, kind: Any = torch.int64) -> Tensor:
            rows = [torch.tensor(piece, dtype=kind) for piece in pieces]
            return pad_sequence(rows, batch_first=True, padding_value=fill, padding_side="left")

        chosen = [row for index in indices for row in self.rows(index, index + 1)]
        tokens = [[*row.prompt_ids, *row.completion_ids] for row in chosen]
        return {
            "ids": padded(tokens, pad_id),
            "attention_mask": padded([1] * len(row) for row in tokens),
            "completion_mask": padded([1] * len(row.completion_ids) for row in chosen),
            "ref_logps": padded((row.ref_logps for row in chosen), kind=torch.float32),
        }


def rehearsal_rows(seed: int, step: int, size: int, count: int) -> list[int]:
    """Choose the `count` of `size` rows that optimizer step `step` rehearses, from (seed, step) alone.

    Rows are drawn without replacement if count <= size; otherwise every row is used once before any repeats.
    All processes draw the same rows.
    """
    generator = np.random.default_rng([seed, step])
    passes = [generator.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate(passes)[:count].tolist()


def share(rows: Sequence[int], rank: int, world: int, micro: int, micros: int) -> Sequence[int]:
    """Rows of the step that process `rank` of `world` processes in micro-step `micro` of `micros`.

    The shares partition the rows in order, with the shares of one micro-step adjacent, and differ in size by
    at most one. If rows are sorted by length, little padding is needed.
    """
    start, stop = (len(rows) * (micro * world + rank + i) // (world * micros) for i in (0, 1))
    return rows[start:stop]


def _counts(table: pyarrow.Table, name: str) -> Int64[np.ndarray, " rows"]:
    return compute.list_value_length(table[name]).to_numpy().astype(np.int64)


def _flat(table: pyarrow.Table) -> Float32[np.ndarray, " tokens"]:
    parts = [part.flatten().to_numpy() for part in table["ref_logps"].chunks]
    return np.concatenate([np.empty(0, np.float32), *parts])


def _written(file: Any, tables: Iterable[pyarrow.Table]) -> dict[str, Any]:
    """Write tables to a file, and return their number of rows and their digest."""
    count = 0
    with ipc.new_file(file, _SCHEMA) as writer:
        for table in tables:
            writer.write_table(table)
            count += len(table)
    file.seek(0)
    return {"count": count, "digest": hashlib.file_digest(file, "sha256").hexdigest()}
