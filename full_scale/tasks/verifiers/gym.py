"""The verifier of reasoning-gym tasks: the generator's own score, in worker processes."""

from typing import Any, NamedTuple

from dph_theory.support.errors import argument_error

from ..protocol import Prompt
from .extract import between_tags, last_boxed
from .pool import Job, Limits, PooledVerifier

MEMORY = 2**32
"""Bytes of each worker."""


class GymQuestion(NamedTuple):
    """Whether `answer` will do for the `entry`-th question of the generator that `source` tells (JSON)."""

    source: str
    entry: int
    answer: str


class GymVerifier(PooledVerifier[GymQuestion]):
    r"""Scores what stands between the last answer tags, or in the last \boxed{}, by the generator's verifier.

    A score of at least `threshold` is correct. `seconds` (of computing) bounds each verdict. ValueError for a
    reference that is incomplete.
    """

    def __init__(self, threshold: float = 1.0, *, seconds: float = 10.0, workers: int | None = None) -> None:
        if not 0 < threshold <= 1:
            raise argument_error("threshold", threshold, "above 0, at most 1")
        self._threshold = threshold
        super().__init__("full_scale.tasks.verifiers.gym_judge:judge", Limits(seconds, MEMORY), workers)

    @property
    def bound(self) -> dict[str, Any]:
        """The least score that is correct."""
        return {"threshold": self._threshold}

    def question(self, example: Prompt, completion: str) -> GymQuestion | None:
        """The completion's answer, with the entry it is to."""
        for name in ("source", "entry"):
            if name not in example.reference:
                raise argument_error(
                    f"reference of {example.id!r}", dict(example.reference), f"needs {name!r}"
                )
        answer = between_tags(completion)
        answer = last_boxed(completion) if answer is None else answer
        if answer is None:
            return None
        return GymQuestion(example.reference["source"], example.reference["entry"], answer)

    def job(self, question: GymQuestion) -> Job:
        """The question, with the threshold."""
        return {**question._asdict(), "threshold": self._threshold}
