"""Maths verifier: equality of answers by math-verify, in worker processes."""

from dph_theory.support.errors import argument_error

from ..protocol import Prompt
from .pool import Job, Limits, PooledVerifier

STEPS = 6
"""Steps of one judgement, each under math-verify's limit: two parses, up to four compared pairs."""


class MathsVerifier(PooledVerifier):
    r"""Scores completions by their final answer, boxed or plain, against the example's `reference["answer"]`.

    math-verify limits time by a signal, which needs a main thread: a worker has one. `seconds` (whole, at
    least 1) bounds each of its steps, `memory` (bytes) each worker. Raises ValueError for a reference without
    an answer; RuntimeError if no worker can be started. Source: math-verify.
    """

    def __init__(self, *, seconds: int = 5, memory: int = 2**31, workers: int | None = None) -> None:
        if seconds < 1:
            raise argument_error("seconds", seconds, "whole seconds, at least 1")
        self._seconds = seconds
        super().__init__(
            "full_scale.tasks.verifiers.maths_judge:judge", Limits(STEPS * seconds + 1, memory), workers
        )

    def job(self, example: Prompt, completion: str) -> Job:
        """The completion unchanged, with the gold answer and the time limit."""
        gold = example.reference.get("answer")
        if not isinstance(gold, str) or not gold.strip():
            raise argument_error(
                f"reference of {example.id!r}", dict(example.reference), "needs an 'answer', as text"
            )
        return {"gold": gold, "answer": completion, "seconds": self._seconds}
