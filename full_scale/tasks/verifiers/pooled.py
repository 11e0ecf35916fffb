"""What verifiers share that judge in worker processes: the pool, jobs without repeats, scores in order."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from ..protocol import Example, Score
from .pool import Job, Limits, Pool
from .worker import Outcome

Question = TypeVar("Question", bound=tuple[object, ...])


class PooledVerifier(ABC, Generic[Question]):
    """A verifier whose judge runs in worker processes; a context manager that ends them.

    A subclass says what is judged (`question`, hashable) and how the judge is told (`job`). What occurs more
    than once in a batch is judged once. RuntimeError if no worker can be started.
    """

    def __init__(self, judge: str, limits: Limits, workers: int | None) -> None:
        self._pool = Pool(judge, limits, workers)

    def __enter__(self) -> "PooledVerifier[Question]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def __call__(self, examples: Sequence[Example], completions: Sequence[str]) -> list[Score]:
        """One score for each pair of example and completion, in order."""
        asked = [self.question(*pair) for pair in zip(examples, completions, strict=True)]
        jobs = {question: self.job(question) for question in asked if question is not None}
        replies = dict(zip(jobs, self._pool.map([*jobs.values()]), strict=True))
        return [self._score(question, replies) for question in asked]

    def _score(self, question: Question | None, replies: dict[Question, dict[str, str]]) -> Score:
        if question is None:
            return Score(False, Outcome.NO_ANSWER)
        outcome = Outcome(replies[question]["outcome"])
        return Score(outcome is Outcome.CORRECT, outcome, self.style(question))

    @abstractmethod
    def question(self, example: Example, completion: str) -> Question | None:
        """What is to be judged; None if the completion holds no answer. ValueError for a bad reference."""

    @abstractmethod
    def job(self, question: Question) -> Job:
        """The question as the judge takes it: a JSON-ready mapping."""

    def style(self, question: Question) -> str | None:
        """The style of the answer, where the task names styles."""
        return None
