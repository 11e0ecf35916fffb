"""The maths verifier: equality of answers by math-verify, in worker processes."""

from collections.abc import Sequence

from dph_theory.support.errors import argument_error

from ..protocol import Example, Score
from .pool import Limits, Pool

STEPS = 6
"""Steps of one judgement, each under math-verify's limit: two parses, up to four pairs compared."""


class MathsVerifier:
    r"""Scores completions by their final answer, boxed or plain, against the example's `reference["answer"]`.

    Outcomes: `correct`, `wrong`, `no_answer`, `timeout`, `memory`, `crash`, and `gold_error`, which is the
    data's fault. math-verify's time limit is a signal, which works in a main thread only: that of a worker.
    `seconds` (whole, at least 1) bounds each of its steps, `memory` (bytes) each worker. ValueError for a
    reference without an answer; RuntimeError if no worker can be started. Source: math-verify.
    """

    def __init__(self, *, seconds: int = 5, memory: int = 2**31, workers: int | None = None) -> None:
        if seconds < 1:
            raise argument_error("seconds", seconds, "whole seconds, at least 1")
        self._seconds = seconds
        self._pool = Pool(
            "full_scale.tasks.verifiers.maths_judge:judge", Limits(STEPS * seconds + 1, memory), workers
        )

    def __enter__(self) -> "MathsVerifier":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()

    def __call__(self, examples: Sequence[Example], completions: Sequence[str]) -> list[Score]:
        """One score for each pair; what occurs more than once is judged once."""
        pairs = [(_gold(e), c) for e, c in zip(examples, completions, strict=True)]
        jobs = {pair: {"gold": pair[0], "answer": pair[1], "seconds": self._seconds} for pair in pairs}
        replies = dict(zip(jobs, self._pool.map([*jobs.values()]), strict=True))
        outcomes = [replies[pair]["outcome"] for pair in pairs]
        return [Score(outcome == "correct", outcome) for outcome in outcomes]


def _gold(example: Example) -> str:
    answer = example.reference.get("answer")
    if not isinstance(answer, str) or not answer.strip():
        raise argument_error(
            f"reference of {example.id!r}", dict(example.reference), "needs an 'answer', as text"
        )
    return answer
