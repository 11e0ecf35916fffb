"""A small run of the strategies experiment, shared by the tests that only read its record."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

from toy_lm.strategies import Config, run

SMALL = replace(
    Config(),
    learning_rate=1.0,
    steps=100,
    conditionings=(0.1, 1.0),
    strengths=(0.1, 1.0, 3.0),
    alphas=(0.5,),
    targets=(0.5,),
    draws=(1, 16),
    random_tasks=4,
)


@cache
def _record() -> dict[str, Any]:
    return run(SMALL)


def small_record() -> dict[str, Any]:
    """A fresh copy, to change at will."""
    return deepcopy(_record())
