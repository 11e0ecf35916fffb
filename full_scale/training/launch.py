"""Number of training processes, and sharding of the weights over them."""

import os
from dataclasses import dataclass
from pathlib import Path

import yaml

from dph_theory.support.errors import argument_error


@dataclass(frozen=True)
class Launch:
    """Launch settings of a training."""

    world_size: int = 1
    sharded: bool = False  # By FSDP or ZeRO 3.
    package: str | None = None  # What it needs beyond torch and accelerate.

    @classmethod
    def read(cls, path: Path) -> "Launch":
        """Read a file of `accelerate launch`; ValueError if it is not one."""
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(settings, dict) or "distributed_type" not in settings:
            raise argument_error("launch", str(path), "a file of accelerate launch, with distributed_type")
        deepspeed = settings["distributed_type"] == "DEEPSPEED"
        stage = settings.get("deepspeed_config", {}).get("zero_stage")
        sharded = settings["distributed_type"] == "FSDP" or stage == 3
        return cls(int(settings.get("num_processes", 1)), sharded, "deepspeed" if deepspeed else None)

    @classmethod
    def of_process(cls) -> "Launch":
        """Settings with which torchrun or `accelerate launch` started this process; else one process."""
        deepspeed = os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true"
        stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE")
        sharded = os.environ.get("ACCELERATE_USE_FSDP") == "true" or (deepspeed and stage == "3")
        return cls(int(os.environ.get("WORLD_SIZE", "1")), sharded, "deepspeed" if deepspeed else None)


ONE = Launch()  # One process, by itself.
