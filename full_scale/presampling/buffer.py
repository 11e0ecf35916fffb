"""The rehearsal buffer, correct completions of the initial model, and which of its rows a step rehearses."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import torch
from jaxtyping import Float32, Int64
from pyarrow import compute, parquet
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dph_theory.support.errors import RefusedError, argument_error
from dph_theory.support.files import replacing, write_json

from ..storage.tensors import hash_values, storing

BUFFER, MANIFEST = "buffer.parquet", "manifest.json"
_MAKE = "run dph presample --config ..."
_IDS = pyarrow.large_list(pyarrow.int64())
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
    ref_logps: Sequence[float]


@dataclass(frozen=True, eq=False, repr=False)
class RehearsalBuffer:
    """The rows as a table, whose columns are a row's fields, and where they come from."""

    table: pyarrow.Table
    manifest: Mapping[str, Any]
    """model_hash, tokenizer_hash, temperature, seed, dtype, count."""

    @classmethod
    def from_rows(cls, rows: Sequence[RehearsalRow], manifest: Mapping[str, Any]) -> "RehearsalBuffer":
        """The buffer of these rows.

        ValueError for a row without prompt or completion, or whose log-probabilities are not one for each
        token of the completion, or not finite.
        """
        for row in rows:
            name, tokens = f"ref_logps of {row.example_id}", len(row.completion_ids)
            if not len(row.prompt_ids) or not tokens:
                allowed = "needs at least one token of prompt and of completion"
                raise argument_error("row", row.example_id, allowed)
            if len(row.ref_logps) != tokens:
                allowed = f"one for each of the completion's {tokens} tokens"
                raise argument_error(name, len(row.ref_logps), allowed)
            if not np.isfinite(row.ref_logps).all():
                raise argument_error(name, list(row.ref_logps), "finite log-probabilities")
        table = pyarrow.Table.from_pylist([row._asdict() for row in rows], _SCHEMA)
        return cls(table, {**manifest, "count": len(rows)})

    def __len__(self) -> int:
        return self.table.num_rows

    def __repr__(self) -> str:
        return f"RehearsalBuffer of {len(self)} rows"

    @cached_property
    def lengths(self) -> Int64[Tensor, " rows"]:
        """Completion tokens of each row."""
        return self._counts("completion_ids")

    @property
    def ref_logps(self) -> Float32[Tensor, " tokens"]:
        """Those of all rows, one after the other."""
        return self._flat("ref_logps")

    def with_reference(self, ref_logps: Float32[Tensor, " tokens"]) -> "RehearsalBuffer":
        """The same rows with other log-probabilities, in the order of `ref_logps`."""
        rows = pyarrow.LargeListArray.from_arrays(_ends(self.lengths).numpy(), ref_logps.numpy())
        at = self.table.schema.get_field_index("ref_logps")
        return RehearsalBuffer(self.table.set_column(at, "ref_logps", rows), self.manifest)

    def by_length(self, rows: Sequence[int]) -> list[int]:
        """The rows in the order of their tokens, prompt and completion, the shortest first."""
        tokens = self._counts("prompt_ids") + self.lengths
        return sorted(rows, key=lambda row: int(tokens[row]))

    @property
    def digest(self) -> str:
        """The sha256 of the rows; the manifest left aside."""
        ids = ("prompt_ids", "completion_ids")
        parts = [part for name in ids for part in (self._flat(name), _ends(self._counts(name)))]
        return hash_values(self.table["example_id"].to_pylist(), [*parts, self.ref_logps])

    def _flat(self, name: str) -> Tensor:
        return torch.tensor(self.table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False))

    def _counts(self, name: str) -> Tensor:
        return torch.from_numpy(compute.list_value_length(self.table[name]).to_numpy().astype(np.int64))

    def save(self, folder: Path) -> None:
        """Write buffer.parquet, then manifest.json, each whole or not at all; the manifest holds the digest.

        Columns example_id, prompt_ids, completion_ids, ref_logps (one for each completion token), for any
        other trainer too.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with storing(folder), replacing(folder / BUFFER) as part:
            parquet.write_table(self.table, part)
        write_json(folder / MANIFEST, {**self.manifest, "digest": self.digest})

    @classmethod
    def load(cls, folder: Path) -> "RehearsalBuffer":
        """The buffer of a folder; RefusedError if it is missing, damaged, or not the manifest's."""
        for name in (MANIFEST, BUFFER):
            if not (folder / name).is_file():
                raise RefusedError(f"no rehearsal buffer in {folder}, which lacks {name}: {_MAKE}")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            digest = manifest.pop("digest")
            buffer = cls(parquet.read_table(folder / BUFFER), manifest)
            same = buffer.digest == digest
        except (ValueError, KeyError, OSError) as error:
            raise RefusedError(
                f"the rehearsal buffer in {folder} is damaged ({error}): {_MAKE}, which makes it anew"
            ) from error
        if not same:
            raise RefusedError(f"{folder / BUFFER} is not what its manifest describes: {_MAKE}")
        return buffer

    def check(self, **expected: Any) -> None:
        """RefusedError unless the manifest agrees on each: model_hash=, tokenizer_hash=, temperature=."""
        for name, value in expected.items():
            if self.manifest.get(name) != value:
                raise RefusedError(
                    f"the rehearsal buffer was made with {name}={self.manifest.get(name)!r}, and this run "
                    f"has {value!r}: {_MAKE} with this run's model, tokenizer and temperature"
                )

    def rows(self) -> list[RehearsalRow]:
        """The rows, one by one."""
        return [RehearsalRow(**row) for row in self.table.to_pylist()]

    def batch(self, indices: Sequence[int], pad_id: int) -> dict[str, Tensor]:
        """The rows as a batch that is as wide as the longest: prompt and completion end to end, padded left.

        Keys ids, attention_mask (rows, width); completion_mask, ref_logps (rows, tokens) of the last columns,
        as many as the longest completion has, 0 where a row's prompt or its padding stands. Masks are int64.
        """

        def padded(pieces: Iterable[Sequence[float]], fill: float = 0, kind: Any = torch.int64) -> Tensor:
            rows = [torch.tensor(piece, dtype=kind) for piece in pieces]
            return pad_sequence(rows, batch_first=True, padding_value=fill, padding_side="left")

        chosen = [RehearsalRow(**row) for row in self.table.take(list(indices)).to_pylist()]
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


def _ends(counts: Tensor) -> Tensor:
    """Where each row begins, and the last ends, in a flat column."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
