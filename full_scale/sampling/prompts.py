"""The prompts of `dph count`, one at a time, and what is known of all before the first is answered."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from dph_theory.support.errors import argument_error

from ..storage.tensors import database_hashes
from ..tasks.benchmarks import LAYOUTS, DataRow, ExampleSource, stream_rows
from ..tasks.protocol import Prompt


class Survey(NamedTuple):
    """Number of prompts, sha256 of the prompts with all they are judged by, and the longest prompt."""

    prompts: int
    sha256: str
    longest: Prompt


@dataclass(frozen=True)
class PromptStream:
    """Prompts with what their answers are judged by; none stays in memory.

    `column` has the ids; unless given, that is `id` where there is one, and else the prompt's text is its id.
    """

    source: ExampleSource
    column: str | None = None

    def __iter__(self) -> Iterator[Prompt]:
        source = self.source
        rows = stream_rows(source.data, split=source.split, subset=source.subset)
        for number, row in enumerate(islice(rows, source.limit)):
            if number == 0:
                self._check_columns(row)
            example = LAYOUTS["dataset"].example(source, row, "")
            column = self.column or ("id" if "id" in row.values else None)
            name = example.prompt if column is None else row.text(column)
            yield Prompt(name, example.prompt, example.reference, example.turns)

    def _check_columns(self, row: DataRow) -> None:
        source = self.source
        answer = source.answer or ("answer" if source.verifier == "maths" else None)
        columns = {"prompt": source.question or "prompt", "answer": answer, "id": self.column}
        if source.verifier == "sql":
            columns |= {"database": "database", "query": "query"}
        for argument, column in columns.items():
            if column is not None and column not in row.values:
                names = ", ".join(sorted(row.values))
                raise argument_error(argument, column, f"a column of {source.data}, which has {names}")

    def survey(self) -> Survey:
        """Read all prompts once for number, hash and longest; ValueError if none, or for repeated ids."""
        digest, names, longest = hashlib.sha256(), bytearray(), None
        databases: dict[str, str] = {}
        for example in self:
            values = {name: value for name, value in example.reference.items() if name != "verifier"}
            row = [example.id, example.prompt, [*map(dict, example.turns)], values]
            digest.update(json.dumps(row, sort_keys=True, default=str).encode())
            names += _short(example.id)
            if (place := str(values.get("database") or "")) and place not in databases:
                databases |= {place: "", **database_hashes([values])}
            if longest is None or len(example.prompt) > len(longest.prompt):
                longest = example
        if longest is None:
            raise argument_error("prompts", self.source.data, "a source with at least one row")
        different, counts = np.unique(np.frombuffer(names, dtype=np.uint64), return_counts=True)
        if len(different) < (total := int(counts.sum())):
            twice = {value.tobytes() for value in different[counts > 1]}
            name = next(example.id for example in self if _short(example.id) in twice)
            allowed = "each prompt once, under an id of its own: --id names a column of ids"
            raise argument_error("id", name, allowed)
        digest.update(json.dumps(databases, sort_keys=True).encode())
        return Survey(total, digest.hexdigest(), longest)


def _short(name: str) -> bytes:
    """Hash of an id in eight bytes."""
    return hashlib.blake2b(name.encode(), digest_size=8).digest()
