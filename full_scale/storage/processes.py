"""Several processes of one launch (torchrun, accelerate) that share out work and wait for one another."""

import os
from datetime import timedelta
from typing import NamedTuple

import torch

LONGEST_WAIT = timedelta(days=30)
"""Processes with little to do wait for the one with most."""


class Processes(NamedTuple):
    """A process and how many its launch has."""

    rank: int = 0
    world: int = 1

    @classmethod
    def of_launch(cls) -> "Processes":
        """From what the launcher set; a process of its own is one of one."""
        return cls(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))

    def mine(self, count: int) -> range:
        """Of the pieces 0 to count-1, those that this process works on."""
        return range(self.rank, count, self.world)

    def wait(self) -> None:
        """Until all of them have come here."""
        if self.world == 1:
            return
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo", timeout=LONGEST_WAIT)
        torch.distributed.barrier()


def take_device() -> None:
    """Give each process of a machine a GPU of its own, where there are some."""
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
