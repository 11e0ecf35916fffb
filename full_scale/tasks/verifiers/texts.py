"""Whether an answer's text alone is correct, by the `answer` of its reference."""

import re
from collections.abc import Mapping


def exact(answer: str, reference: Mapping[str, str]) -> bool:
    """Whether they are equal, white space around them aside."""
    return answer.strip() == reference["answer"].strip()


def regex(answer: str, reference: Mapping[str, str]) -> bool:
    """Whether the reference, a regular expression, is somewhere in the answer."""
    return re.search(reference["answer"], answer) is not None
