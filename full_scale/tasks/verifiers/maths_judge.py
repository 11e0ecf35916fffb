"""The worker's side of the maths verifier: math-verify under its own time limit, and the kernel's."""

import time
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

from .extract import last_boxed, tagged
from .worker import Outcome

LONGEST_TEXT = 4000
"""Characters of an unmarked completion's end in which an answer is looked for."""
_TARGETS = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())


def judge(job: dict[str, Any]) -> dict[str, str]:
    r"""The outcome of an `answer` against the `gold` one.

    `correct`, `wrong`, `no_answer`, `timeout`, or `gold_error`. Of the answer its last \boxed{...} counts,
    else what follows its last `####`, else what math-verify finds in its end. math-verify gives up a step
    after `seconds` without saying so: a step that took as long and found nothing is a `timeout`.
    """
    seconds = job["seconds"]
    gold, _ = _parsed(_marked(job["gold"]), seconds)
    if not gold:
        return {"outcome": Outcome.GOLD_ERROR, "detail": f"no answer in {job['gold']!r}"}
    text = job["answer"]
    marked = last_boxed(text)
    if marked is None:
        marked = tagged(text)
    answer, late = _parsed(text[-LONGEST_TEXT:] if marked is None else _marked(marked), seconds)
    if not answer:
        return {"outcome": Outcome.TIMEOUT if late else Outcome.NO_ANSWER}
    begun = time.monotonic()
    if verify(gold, answer, timeout_seconds=seconds):
        return {"outcome": Outcome.CORRECT}
    return {"outcome": Outcome.TIMEOUT if time.monotonic() - begun >= seconds else Outcome.WRONG}


def _marked(answer: str) -> str:
    """An answer as the one thing that a text boxes."""
    return rf"\boxed{{{answer}}}"


def _parsed(text: str, seconds: int) -> tuple[list[Any], bool]:
    """What math-verify reads in a text, and whether its time ran out."""
    begun = time.monotonic()
    return parse(text, _TARGETS, parsing_timeout=seconds), time.monotonic() - begun >= seconds
