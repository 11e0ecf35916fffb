"""The rehearsal buffer, correct completions of the initial model, and which of its rows a step rehearses."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow
import torch
from jaxtyping import Float32, Int64
from pyarrow import parquet
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dph_theory.support.errors import argument_error
from dph_theory.support.files import replacing, write_json

from ..storage.tensors import hash_values, storing

BUFFER, MANIFEST = "buffer.parquet", "manifest.json"
_ARRAYS = ("prompt_ids", "prompt_offsets", "completion_ids", "completion_offsets", "ref_logps")


class RehearsalRow(NamedTuple):
    """One completion of the initial model, with its log-probability under it, token by token."""

    example_id: str
    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    ref_logps: Sequence[float]


@dataclass(frozen=True, eq=False)
class RehearsalBuffer:
    """Rows of ragged length, stored flat: row i holds the tokens from offsets[i] to offsets[i+1]."""

    prompt_ids: Int64[Tensor, " prompt_tokens"]
    prompt_offsets: Int64[Tensor, " ends"]
    completion_ids: Int64[Tensor, " tokens"]
    completion_offsets: Int64[Tensor, " ends"]
    ref_logps: Float32[Tensor, " tokens"]
    example_ids: tuple[str, ...]
    manifest: Mapping[str, Any]
    """Where the rows come from: model_hash, tokenizer_hash, temperature, seed, dtype, count."""

    @classmethod
    def from_rows(cls, rows: Sequence[RehearsalRow], manifest: Mapping[str, Any]) -> "RehearsalBuffer":
        """The buffer of these rows.

        ValueError for a row without prompt or completion, or whose log-probabilities are not one for each
        token of the completion, or not finite.
        """
        for row in rows:
            _check(row)
        return cls(
            prompt_ids=_flat((row.prompt_ids for row in rows), torch.int64),
            prompt_offsets=_ends(row.prompt_ids for row in rows),
            completion_ids=_flat((row.completion_ids for row in rows), torch.int64),
            completion_offsets=_ends(row.completion_ids for row in rows),
            ref_logps=_flat((row.ref_logps for row in rows), torch.float32),
            example_ids=tuple(row.example_id for row in rows),
            manifest={**manifest, "count": len(rows)},
        )

    def __len__(self) -> int:
        return len(self.example_ids)

    @property
    def lengths(self) -> Int64[Tensor, " rows"]:
        """Completion tokens of each row."""
        return self.completion_offsets.diff()

    def by_length(self, rows: Sequence[int]) -> list[int]:
        """The rows in the order of their tokens, prompt and completion, the shortest first."""
        tokens = self.prompt_offsets.diff() + self.completion_offsets.diff()
        return sorted(rows, key=lambda row: int(tokens[row]))

    @property
    def digest(self) -> str:
        """The sha256 of the rows; the manifest left aside."""
        return hash_values(list(self.example_ids), (getattr(self, name) for name in _ARRAYS))

    def save(self, folder: Path) -> None:
        """Write buffer.parquet, then manifest.json, each whole or not at all; the manifest holds the digest.

        Columns example_id, prompt_ids, completion_ids, ref_logps (one for each completion token), for any
        other trainer too.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with storing(folder), replacing(folder / BUFFER) as part:
            parquet.write_table(self._table(), part)
        write_json(folder / MANIFEST, {**self.manifest, "digest": self.digest})

    def _table(self) -> pyarrow.Table:
        lists = {
            name: pyarrow.LargeListArray.from_arrays(ends.numpy(), values.numpy())
            for name, values, ends in (
                ("prompt_ids", self.prompt_ids, self.prompt_offsets),
                ("completion_ids", self.completion_ids, self.completion_offsets),
                ("ref_logps", self.ref_logps, self.completion_offsets),
            )
        }
        return pyarrow.table({"example_id": pyarrow.array(self.example_ids, pyarrow.string()), **lists})

    @classmethod
    def load(cls, folder: Path) -> "RehearsalBuffer":
        """The buffer of a folder; ValueError if it is missing, damaged, or not the manifest's."""
        for name in (MANIFEST, BUFFER):
            if not (folder / name).is_file():
                raise argument_error("folder", str(folder), f"a folder with {name}; pre-sample first")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            table = parquet.read_table(folder / BUFFER)
            digest, buffer = manifest.pop("digest"), cls._of_table(table, manifest)
        except (ValueError, KeyError, OSError) as error:
            raise argument_error(
                "folder", str(folder), f"a whole {BUFFER} and {MANIFEST}; pre-sample again ({error})"
            ) from error
        if buffer.digest != digest:
            raise argument_error(
                BUFFER, str(folder), "the buffer that its manifest describes; pre-sample again"
            )
        return buffer

    @classmethod
    def _of_table(cls, table: pyarrow.Table, manifest: Mapping[str, Any]) -> "RehearsalBuffer":
        found: dict[str, Tensor] = {}
        for name in ("prompt_ids", "completion_ids", "ref_logps"):
            lists = table.column(name).combine_chunks()
            ends = np.append(0, np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)))
            found[name] = torch.tensor(lists.flatten().to_numpy(zero_copy_only=False))
            found[f"{name.removesuffix('_ids')}_offsets"] = torch.from_numpy(ends.astype(np.int64))
        del found["ref_logps_offsets"]
        return cls(**found, example_ids=tuple(table.column("example_id").to_pylist()), manifest=manifest)

    def check(self, **expected: Any) -> None:
        """Raise ValueError unless the manifest agrees on each: model_hash=, tokenizer_hash=, temperature=."""
        for name, value in expected.items():
            if self.manifest.get(name) != value:
                raise argument_error(
                    f"rehearsal buffer {name}",
                    self.manifest.get(name),
                    f"this run has {value!r}; pre-sample with this run's model, tokenizer and temperature",
                )

    def rows(self) -> list[RehearsalRow]:
        """The rows, one by one."""
        prompts, completions = _pieces(self.prompt_offsets), _pieces(self.completion_offsets)
        return [
            RehearsalRow(
                example,
                self.prompt_ids[prompt].tolist(),
                self.completion_ids[completion].tolist(),
                self.ref_logps[completion].tolist(),
            )
            for example, prompt, completion in zip(self.example_ids, prompts, completions, strict=True)
        ]

    def batch(self, indices: Sequence[int], pad_id: int) -> dict[str, Tensor]:
        """The rows as a batch that is as wide as the longest: prompt and completion end to end, padded left.

        Keys ids, attention_mask (rows, width); completion_mask, ref_logps (rows, tokens) of the last columns,
        as many as the longest completion has, 0 where a row's prompt or its padding stands. Masks are int64.
        """

        def pieces(values: Tensor, offsets: Tensor) -> list[Tensor]:
            return [values[offsets[i] : offsets[i + 1]] for i in indices]

        def padded(pieces: Iterable[Tensor], fill: float = 0) -> Tensor:
            return pad_sequence(list(pieces), batch_first=True, padding_value=fill, padding_side="left")

        answers = pieces(self.completion_ids, self.completion_offsets)
        prompts = pieces(self.prompt_ids, self.prompt_offsets)
        rows = [torch.cat(pair) for pair in zip(prompts, answers, strict=True)]
        return {
            "ids": padded(rows, pad_id),
            "attention_mask": padded(torch.ones_like(row) for row in rows),
            "completion_mask": padded(torch.ones_like(answer) for answer in answers),
            "ref_logps": padded(pieces(self.ref_logps, self.completion_offsets)),
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


def _check(row: RehearsalRow) -> None:
    if not len(row.prompt_ids) or not len(row.completion_ids):
        raise argument_error("row", row.example_id, "needs at least one token of prompt and of completion")
    if len(row.ref_logps) != len(row.completion_ids):
        allowed = f"one for each of the completion's {len(row.completion_ids)} tokens"
        raise argument_error(f"ref_logps of {row.example_id}", len(row.ref_logps), allowed)
    if not np.isfinite(row.ref_logps).all():
        raise argument_error(
            f"ref_logps of {row.example_id}", list(row.ref_logps), "finite log-probabilities"
        )


def _flat(pieces: Iterable[Sequence[float]], dtype: torch.dtype) -> Tensor:
    return torch.tensor([value for piece in pieces for value in piece], dtype=dtype)


def _ends(pieces: Iterable[Sequence[int]]) -> Tensor:
    return torch.tensor([0, *(len(piece) for piece in pieces)], dtype=torch.int64).cumsum(0)


def _pieces(offsets: Tensor) -> list[slice]:
    return [slice(start, end) for start, end in pairwise(offsets.tolist())]
