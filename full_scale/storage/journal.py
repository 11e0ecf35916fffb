"""A journal for a launch of several processes, each of which keeps what it has done beside the others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate import PartialState

from dph_theory.support.journal import Journal


class SharedJournal(Journal):
    """A journal for each process of a launch, beside one another; their entries together are the work done.

    A process appends to its own. The entries are those that were there when it was opened, of launches with
    any number of processes, and its own; `gather` looks for those of the others.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], kind: Any = dict) -> None:
        self._first, rank = path, PartialState().process_index
        own = path if rank == 0 else path.with_stem(f"{path.stem}-{rank}")
        super().__init__(own, identity, kind, may_miss=True)
        self.gather()
        # Nobody appends before everybody has read.
        PartialState().wait_for_everyone()

    def gather(self) -> None:
        """Find the entries of all processes; those of another identity than this one's do not count."""
        for path in sorted(self._first.parent.glob(f"{self._first.stem}*{self._first.suffix}")):
            self._find(path)
