"""The fits of the reference case as a table a person can read."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

_KEYS = ("family", "objective", "method", "lambda", "alpha")
_VALUES = ("validity", "top", "effective", "coverage", "excess_kl")


def tables(record: Mapping[str, Any]) -> list[Table]:
    """One line a fit: what was fitted and how, validity, top mass, effective number, coverage, excess KL."""
    reference = record["results"]["reference"]
    table = Table(*_KEYS, *_VALUES, title=reference["name"], pad_edge=False)
    for line in reference["fits"]:
        keys = ("" if line.get(key) is None else _short(line[key]) for key in _KEYS)
        table.add_row(*keys, *(_short(line[name]) for name in _VALUES))
    return [table]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
