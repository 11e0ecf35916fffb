"""The record of `dph demo`: theory against training, as `full_scale` writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dph_theory.support.frozen import from_json


@dataclass(frozen=True)
class Statement:
    """What theory says of one run on one set of prompts, and what was measured there.

    `relation` is that of estimate to prediction, `margin` what sampling may move their difference by.
    """

    name: str
    theory: str
    relation: str
    estimate: float
    prediction: float
    margin: float
    verdict: str


@dataclass(frozen=True)
class Difference:
    """A difference between methods: its sign by the literature, and here, 0 where none can be told."""

    expected: int
    found: int


@dataclass(frozen=True)
class Spread:
    """A mean over seeds and their standard deviation; None where there is none."""

    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Everything that figures read of a demo: `methods` holds its measures by name, by method."""

    set: str
    prompts: int
    seeds: tuple[int, ...]
    checks: tuple[Statement, ...]
    predictions: tuple[Statement, ...]
    differences: tuple[Difference, ...]
    methods: Mapping[str, Mapping[str, Spread]]
    findings: tuple[str, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Demo":
        """The demo of a record; ValueError names what it lacks."""
        seeds, findings = record["config"]["seeds"], record["findings"]
        return from_json(cls, {**record["results"], "seeds": seeds, "findings": findings})
