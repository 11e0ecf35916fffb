"""Functions of a user's own, `module:function` of (answer, reference), as verifiers and as rewards."""

import importlib
import math
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from dph_theory.support.errors import argument_error

from ..protocol import Prompt, source_of
from .pool import Job, Limits, Pool, PooledVerifier
from .worker import JudgeOutcome

JUDGE = f"{__name__}:judge"


def judge(job: dict[str, Any]) -> dict[str, Any]:
    """What the `function` says of an `answer` and its `reference`; without an answer, its source.

    By a worker process. What is neither true nor false, or no number where it is `scored`, raises: a `crash`.
    """
    function = _function(job["function"])
    if "answer" not in job:
        source = source_of(job["function"].partition(":")[0], getattr(function, "__module__", ""))
        return {"outcome": JudgeOutcome.CORRECT, "source": source}
    verdict = function(job["answer"], job["reference"])
    if job["scored"]:
        if not math.isfinite(verdict):
            raise ValueError(f"{job['function']} returned {verdict}")
        return {"outcome": JudgeOutcome.CORRECT, "score": float(verdict)}
    if verdict not in (True, False):
        raise TypeError(f"{job['function']} returned {verdict!r}, not true or false")
    return {"outcome": JudgeOutcome.CORRECT if verdict else JudgeOutcome.WRONG}


@lru_cache(maxsize=8)
def _function(name: str) -> Callable[[str, dict[str, Any]], Any]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


class _OwnFunction:
    """A function of the user's own in worker processes, whose module is imported before the limits hold."""

    option: str
    """The option that names it."""

    def __init__(
        self,
        function: str,
        *,
        seconds: float = 10.0,
        memory: int = 2**32,
        write: int = 0,
        environment: tuple[str, ...] = (),
        workers: int | None = None,
    ) -> None:
        for name in environment:
            if name not in os.environ:
                allowed = "names of the environment that are set where dph is started"
                raise argument_error("task.options.own.environment", name, allowed)
        limits = Limits(seconds, memory, write, tuple(environment), function.partition(":")[0])
        self._pool, self._function = Pool(JUDGE, limits, workers), function
        # Of a function that a worker does not find each verdict would be a crash later.
        (reply,) = self._pool.map([{"function": function}])
        if reply["outcome"] != JudgeOutcome.CORRECT:
            reason = reply.get("detail", reply["outcome"])
            allowed = f"module:function that can be imported from here ({reason})"
            raise argument_error(self.option, function, allowed)
        self._source: dict[str, str] = reply["source"]

    def _job(self, example: Prompt, completion: str, *, scored: bool) -> Job:
        reference = dict(example.reference)
        return {"function": self._function, "reference": reference, "answer": completion, "scored": scored}

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()


class OwnVerifier(_OwnFunction, PooledVerifier):
    """Rewards by a function of (answer, reference) that returns true or false, in worker processes.

    `seconds` (of computing) bounds each answer, `memory` (bytes) each worker, `write` (bytes) each file
    that it writes; `environment` names what it sees of the environment beside PATH, HOME and LANG. What
    raises, or returns anything else, is a `crash`. ValueError if the function is not found, or a name
    is not set.
    """

    option = "task.options.verifier"

    @property
    def bound(self) -> dict[str, Any]:
        """The function, and the source of its module."""
        return {"function": self._function, **self._source}

    def job(self, example: Prompt, completion: str) -> Job:
        """The completion as it is, with the example's reference, to this verifier's function."""
        return self._job(example, completion, scored=False)


class OwnReward(_OwnFunction):
    """Numbers by a function of (answer, reference), in worker processes; None where it gave none in time."""

    option = "task.options.rewards"

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """One number for each pair, in order."""
        pairs = zip(examples, completions, strict=True)
        replies = self._pool.map([self._job(*pair, scored=True) for pair in pairs])
        return [reply.get("score") for reply in replies]
