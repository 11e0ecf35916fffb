"""A journal for the processes of a launch, each of which appends to a file of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.journal import Journal


class SharedJournal(Journal):
    """The journals of all processes of a launch in one folder, whose entries together are the finished work.

    Each process appends to its own journal. It sees the entries that existed when it opened the journal, from
    launches of any number of processes, and its own; `gather` adds the other processes' new entries.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], kind: Any = dict) -> None:
        self._first, rank = path, PartialState().process_index
        own = path if rank == 0 else path.with_stem(f"{path.stem}-{rank}")
        super().__init__(own, identity, kind, may_miss=True)
        self.gather()
        # No process appends before all processes have read.
        PartialState().wait_for_everyone()

    def gather(self) -> None:
        """Read the entries of all processes, except those with another identity."""
        for path in sorted(self._first.parent.glob(f"{self._first.stem}*{self._first.suffix}")):
            self._find(path)
