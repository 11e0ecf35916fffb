"""The rehearsal buffer, correct completions of the initial model, and which of its rows a step rehearses."""

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
    """One completion of the initial model, with its log-probability under it, token by token."""

    example_id: str
    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    ref_logps: Sequence[float] = ()


def table_of(rows: Iterable[RehearsalRow]) -> pyarrow.Table:
    """Rows as a table, whose columns are a row's fields."""
    return pyarrow.Table.from_pylist([row._asdict() for row in rows], _SCHEMA)


def packed(table: pyarrow.Table) -> str:
    """A table's rows as text, for a line of a journal: a parquet file in base 64."""
    file = BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return base64.b64encode(file.getbuffer()).decode()


def unpacked(text: str) -> pyarrow.Table:
    """The table of a `packed` text; ValueError for any other."""
    return parquet.read_table(BytesIO(base64.b64decode(text, validate=True))).cast(_SCHEMA)


def scored(table: pyarrow.Table) -> pyarrow.Table:
    """The table; ValueError unless each row has a prompt, a completion and its finite log-probabilities."""
    prompt, tokens, scores = (_counts(table, name) for name in _SCHEMA.names[1:])
    wrong = np.flatnonzero((prompt == 0) | (tokens == 0) | (scores != tokens))
    if len(wrong) or not np.isfinite(_flat(table)).all():
        names = table["example_id"].take(wrong[:1]).to_pylist()
        allowed = "tokens of prompt and completion, and a finite log-probability for each of the latter"
        raise argument_error("rows", names or "NaN or inf", allowed)
    return table


@dataclass(frozen=True, eq=False, repr=False)
class RehearsalBuffer:
    """The rows as a table, whose columns are a row's fields, and where they come from."""

    table: pyarrow.Table
    manifest: Mapping[str, Any]
    """model_hash, tokenizer_hash, temperature, seed, dtype, count, digest."""

    @classmethod
    def from_rows(cls, rows: Sequence[RehearsalRow], manifest: Mapping[str, Any]) -> "RehearsalBuffer":
        """The buffer of these rows in memory; ValueError as `scored`."""
        table = scored(table_of(rows))
        return cls(table, {**manifest, **_written(BytesIO(), [table])})

    def __len__(self) -> int:
        return self.table.num_rows

    def __repr__(self) -> str:
        return f"RehearsalBuffer of {len(self)} rows"

    @cached_property
    def lengths(self) -> Int64[Tensor, " rows"]:
        """Completion tokens of each row."""
        return torch.from_numpy(_counts(self.table, "completion_ids"))

    @property
    def ref_logps(self) -> Float32[Tensor, " tokens"]:
        """Those of all rows, one after the other."""
        return torch.from_numpy(_flat(self.table))

    def with_reference(self, ref_logps: Float32[Tensor, " tokens"]) -> "RehearsalBuffer":
        """The same rows with other log-probabilities, in the order of `ref_logps`."""
        ends = np.concatenate([[0], self.lengths.numpy().cumsum()])
        rows = pyarrow.LargeListArray.from_arrays(ends, ref_logps.numpy())
        at = self.table.schema.get_field_index("ref_logps")
        return RehearsalBuffer(self.table.set_column(at, "ref_logps", rows), self.manifest)

    def by_length(self, rows: Sequence[int]) -> list[int]:
        """The rows in the order of their tokens, prompt and completion, the shortest first."""
        tokens = _counts(self.table, "prompt_ids") + self.lengths.numpy()
        return sorted(rows, key=lambda row: int(tokens[row]))

    @property
    def digest(self) -> str:
        """The sha256 of the rows; the rest of the manifest left aside."""
        return self.manifest["digest"]

    @classmethod
    def store(
        cls, folder: Path, tables: Iterable[pyarrow.Table], manifest: Mapping[str, Any]
    ) -> "RehearsalBuffer":
        """Write buffer.arrow, table by table, then manifest.json with its digest, each whole or not at all.

        Columns example_id, prompt_ids, completion_ids, ref_logps (one for each completion token), for any
        other trainer too. One table is in memory.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with storing(folder), replacing(folder / BUFFER) as part, part.open("wb+") as file:
            written = _written(file, tables)
        write_json(folder / MANIFEST, {**manifest, **written})
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> "RehearsalBuffer":
        """The buffer of a folder, whose rows stay on the disk; RefusedError if it is missing, or not the
        manifest's.
        """
        for name in (MANIFEST, BUFFER):
            if not (folder / name).is_file():
                raise RefusedError(f"no rehearsal buffer in {folder}, which lacks {name}: {_MAKE}")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            with (folder / BUFFER).open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == manifest["digest"]
        except (ValueError, KeyError, OSError) as error:
            raise RefusedError(f"the rehearsal buffer in {folder} is damaged ({error}): {_MAKE}") from error
        if not same:
            raise RefusedError(f"{folder / BUFFER} is not what its manifest describes: {_MAKE}")
        return cls(ipc.open_file(pyarrow.memory_map(str(folder / BUFFER))).read_all(), manifest)

    def check(self, **expected: Any) -> None:
        """RefusedError unless the manifest agrees on each: model_hash=, tokenizer_hash=, temperature=."""
        for name, value in expected.items():
            if self.manifest.get(name) != value:
                raise RefusedError(
                    f"the rehearsal buffer was made with {name}={self.manifest.get(name)!r}, and this run "
                    f"has {value!r}: {_MAKE} with this run's model, tokenizer and temperature"
                )

    def rows(self, start: int = 0, stop: int | None = None) -> list[RehearsalRow]:
        """The rows of a slice, one by one, or all of them."""
        count = None if stop is None else stop - start
        return [RehearsalRow(**row) for row in self.table.slice(start, count).to_pylist()]

    def batch(self, indices: Sequence[int], pad_id: int) -> dict[str, Tensor]:
        """The rows as a batch that is as wide as the longest: prompt and completion end to end, padded left.

        Keys ids, attention_mask (rows, width); completion_mask, ref_logps (rows, tokens) of the last columns,
        as many as the longest completion has, 0 where a row's prompt or its padding stands. Masks are int64.
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
    """The rows, `count` of `size`, that optimizer step `step` rehearses: a function of (seed, step) alone.

    Without replacement while count <= size, otherwise whole passes before any row returns; every process
    draws the same.
    """
    generator = np.random.default_rng([seed, step])
    passes = [generator.permutation(size) for _ in range(-(-count // size))]
    return np.concatenate(passes)[:count].tolist()


def share(rows: Sequence[int], rank: int, world: int, micro: int, micros: int) -> Sequence[int]:
    """The step's rows that process `rank` of `world` takes in its micro-step `micro` of `micros`.

    The shares of all processes and micro-steps partition the rows in order, those of one micro-step side by
    side, and their sizes differ by one at most: rows ordered by length need little padding.
    """
    start, stop = (len(rows) * (micro * world + rank + i) // (world * micros) for i in (0, 1))
    return rows[start:stop]


def _counts(table: pyarrow.Table, name: str) -> Int64[np.ndarray, " rows"]:
    return compute.list_value_length(table[name]).to_numpy().astype(np.int64)


def _flat(table: pyarrow.Table) -> Float32[np.ndarray, " tokens"]:
    parts = [part.flatten().to_numpy() for part in table["ref_logps"].chunks]
    return np.concatenate([np.empty(0, np.float32), *parts])


def _written(file: Any, tables: Iterable[pyarrow.Table]) -> dict[str, Any]:
    """How many rows of tables went into a file, and its digest."""
    count = 0
    with ipc.new_file(file, _SCHEMA) as writer:
        for table in tables:
            writer.write_table(table)
            count += len(table)
    file.seek(0)
    return {"count": count, "digest": hashlib.file_digest(file, "sha256").hexdigest()}
