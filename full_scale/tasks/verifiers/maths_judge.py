"""The worker's side of the maths verifier: math-verify under its own time limit, and the kernel's."""

import time
from typing import Any

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy import Expr, I

from .extract import last_boxed, tagged
from .maths_text import plain, word
from .worker import Outcome

LONGEST_TEXT = 4000
"""Characters of an unmarked completion's end in which an answer is looked for."""
PLACES = 12
"""Decimal places to which a decimal must agree: 0.3333333333 is not 1/3, nor 0.1 what is not 0.1."""
_TARGETS = (LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig())


def judge(job: dict[str, Any]) -> dict[str, str]:
    r"""The outcome of an `answer` against the `gold` one.

    `correct`, `wrong`, `no_answer`, `timeout`, or `gold_error`. Of the answer its last \boxed{...} counts,
    else what follows its last `####`, else what math-verify finds in its end, both in one notation (`plain`).
    An inequality may stand for its interval, words are compared as words. math-verify gives up a step
    after `seconds` without saying so: a step that took as long and found nothing is a `timeout`.
    """
    seconds = job["seconds"]
    gold_text, text = plain(job["gold"]), plain(job["answer"])
    gold, _ = _parsed(_marked(gold_text), seconds)
    if not gold:
        return {"outcome": Outcome.GOLD_ERROR, "detail": f"no answer in {job['gold']!r}"}
    marked = last_boxed(text)
    if marked is None:
        marked = tagged(text)
    expected = word(gold_text)
    if expected is not None and marked is not None:
        return {"outcome": Outcome.CORRECT if word(marked) == expected else Outcome.WRONG}
    answer, late = _parsed(text[-LONGEST_TEXT:] if marked is None else _marked(marked), seconds)
    if not answer:
        return {"outcome": Outcome.TIMEOUT if late else Outcome.NO_ANSWER}
    begun = time.monotonic()
    if _equal(gold, answer, seconds):
        return {"outcome": Outcome.CORRECT}
    return {"outcome": Outcome.TIMEOUT if time.monotonic() - begun >= seconds else Outcome.WRONG}


def _equal(gold: list[Any], answer: list[Any], seconds: int) -> bool:
    """By math-verify; where that fails, once more with the letter i as the imaginary unit, if it is alone."""
    settings = {"float_rounding": PLACES, "allow_set_relation_comp": True, "timeout_seconds": seconds}
    if verify(gold, answer, **settings):
        return True
    complex_gold, complex_answer = _imaginary(gold), _imaginary(answer)
    if (complex_gold, complex_answer) == (gold, answer):
        return False
    return verify(complex_gold, complex_answer, **settings)


def _imaginary(parsed: list[Any]) -> list[Any]:
    def read(found: Any) -> Any:
        letters = found.free_symbols if isinstance(found, Expr) else set()
        return found.subs(dict.fromkeys(letters, I)) if {str(s) for s in letters} == {"i"} else found

    return [read(found) for found in parsed]


def _marked(answer: str) -> str:
    """An answer as the one thing that a text boxes."""
    return rf"\boxed{{{answer}}}"


def _parsed(text: str, seconds: int) -> tuple[list[Any], bool]:
    """What math-verify reads in a text, and whether its time ran out."""
    begun = time.monotonic()
    return parse(text, _TARGETS, parsing_timeout=seconds), time.monotonic() - begun >= seconds
