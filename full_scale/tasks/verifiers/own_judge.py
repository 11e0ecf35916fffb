"""The worker's side of functions of a user's own."""

import importlib
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ..protocol import source_of
from .worker import JudgeOutcome


def judge(job: dict[str, Any]) -> dict[str, Any]:
    """What the `function` says of an `answer` and its `reference`; without an answer, its source."""
    function = _function(job["function"])
    if "answer" not in job:
        source = source_of(job["function"].partition(":")[0], getattr(function, "__module__", ""))
        return {"outcome": JudgeOutcome.CORRECT, "source": source}
    found = function(job["answer"], job["reference"])
    if job["scored"]:
        if not math.isfinite(found):
            raise ValueError(f"{job['function']} returned {found}")
        return {"outcome": JudgeOutcome.CORRECT, "score": float(found)}
    if found not in (True, False):
        raise TypeError(f"{job['function']} returned {found!r}, not true or false")
    return {"outcome": JudgeOutcome.CORRECT if found else JudgeOutcome.WRONG}


@lru_cache(maxsize=8)
def _function(name: str) -> Callable[[str, dict[str, Any]], Any]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)
