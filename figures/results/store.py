"""Where numbers are kept: one JSON file a figure, one an experiment, written whole or not at all."""

import json
from pathlib import Path
from typing import Any

from dph_theory.support.errors import argument_error
from dph_theory.support.files import write_json
from dph_theory.support.record import checked

NUMBERS = Path(__file__).parents[1] / "numbers"
"""The committed numbers; drawings are made from these."""


def load(name: str, kind: str, folder: Path = NUMBERS) -> dict[str, Any]:
    """The stored record of that name and kind; ValueError if it is not there, or is something else."""
    path = folder / f"{name}.json"
    if not path.is_file():
        raise argument_error("numbers", str(path), "stored numbers; --recompute makes them")
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), kind)
    except json.JSONDecodeError as error:
        raise argument_error(
            "numbers", str(path), f"valid JSON ({error}); --recompute makes it anew"
        ) from error


def save(name: str, numbers: dict[str, Any], folder: Path = NUMBERS) -> Path:
    """Store a record under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_json(path, numbers)
    return path
