"""Judgement of an answer's text alone, by the `answer` of its reference."""

import re
from collections.abc import Mapping


def exact(answer: str, reference: Mapping[str, str]) -> bool:
    """True if answer and reference are equal up to surrounding white space."""
    return answer.strip() == reference["answer"].strip()


def regex(answer: str, reference: Mapping[str, str]) -> bool:
    """True if the reference, a regular expression, matches somewhere in the answer."""
    return re.search(reference["answer"], answer) is not None
