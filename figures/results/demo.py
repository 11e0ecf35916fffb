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
class Measure:
    """A measure of a method, one value a seed; none where it is not defined."""

    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Everything that figures read of a demo: `methods` holds its measures by name, by method."""

    set: str
    prompts: int
    checks: tuple[Statement, ...]
    predictions: tuple[Statement, ...]
    differences: tuple[Difference, ...]
    methods: Mapping[str, Mapping[str, Measure]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Demo":
        """The demo of a record; ValueError names what it lacks."""
        return from_json(cls, record["results"])
