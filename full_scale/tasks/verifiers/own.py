"""Functions of a user's own, `module:function` of (answer, reference), as verifiers and as rewards."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from dph_theory.support.errors import argument_error

from ..protocol import Prompt
from .pool import Job, Limits, Pool, PooledVerifier
from .worker import JudgeOutcome

JUDGE = "full_scale.tasks.verifiers.own_judge:judge"


class OwnQuestion(NamedTuple):
    """What a function is asked: an answer and its reference, as JSON."""

    reference: str
    answer: str


def _job(function: str, question: OwnQuestion, *, scored: bool) -> Job:
    reference = json.loads(question.reference)
    return {"function": function, "reference": reference, "answer": question.answer, "scored": scored}


def _asked(example: Prompt, completion: str) -> OwnQuestion:
    return OwnQuestion(json.dumps(dict(example.reference), sort_keys=True), completion)


def _source(pool: Pool, argument: str, function: str) -> dict[str, str]:
    """The hash of the function's module, as a worker finds it; ValueError if it does not.

    Later, each of its verdicts would be a crash.
    """
    (found,) = pool.map([{"function": function}])
    if found["outcome"] != JudgeOutcome.CORRECT:
        said = found.get("detail", found["outcome"])
        raise argument_error(argument, function, f"module:function that can be imported from here ({said})")
    return found["source"]


class OwnVerifier(PooledVerifier[OwnQuestion]):
    """Verdicts by a function of (answer, reference) that returns true or false, in worker processes.

    `seconds` (of computing) bounds each verdict, `memory` (bytes) each worker; what raises, or returns
    anything else, is a `crash`. ValueError if the function is not found.
    """

    def __init__(
        self, function: str, *, seconds: float = 10.0, memory: int = 2**32, workers: int | None = None
    ) -> None:
        super().__init__(JUDGE, Limits(seconds, memory), workers)
        self._function = function
        self._source = _source(self._pool, "task.options.verifier", function)

    @property
    def bound(self) -> dict[str, Any]:
        """The function, and the source of its module."""
        return {"function": self._function, **self._source}

    def question(self, example: Prompt, completion: str) -> OwnQuestion:
        """The completion as it is, with the example's reference."""
        return _asked(example, completion)

    def job(self, question: OwnQuestion) -> Job:
        """The question to this verifier's function."""
        return _job(self._function, question, scored=False)


class OwnReward:
    """Numbers by a function of (answer, reference), in worker processes; None where it gave none in time."""

    def __init__(
        self, function: str, *, seconds: float = 10.0, memory: int = 2**32, workers: int | None = None
    ) -> None:
        self._pool, self._function = Pool(JUDGE, Limits(seconds, memory), workers), function
        _source(self._pool, "task.options.rewards", function)

    def __call__(self, examples: Sequence[Prompt], completions: Sequence[str]) -> list[float | None]:
        """One number for each pair, in order."""
        asked = [_asked(*pair) for pair in zip(examples, completions, strict=True)]
        jobs = {question: _job(self._function, question, scored=True) for question in asked}
        replies: dict[OwnQuestion, Any] = dict(zip(jobs, self._pool.map([*jobs.values()]), strict=True))
        return [replies[question].get("score") for question in asked]

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()
