"""The answer in a completion: its last SQL block, its last boxed expression."""

import re

_FENCE = re.compile(r"```[ \t]*(?P<language>\w*)[^\n]*\n(?P<body>.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"^\s*(?:select|with)\b", re.IGNORECASE | re.MULTILINE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_TAGGED = re.compile(r"####\s*(?P<answer>[^\n]+)")


def last_sql(completion: str) -> str | None:
    """The query a completion ends on, or none.

    The last block fenced as sql (or as sqlite); else the last block with no language; else, for models that
    write plain SQL, everything from the first line that begins with SELECT or WITH. A fence that is never
    closed runs to the end.
    """
    blocks = [(m["language"].lower(), m["body"].strip()) for m in _FENCE.finditer(completion)]
    for languages in (("sql", "sqlite"), ("",)):
        bodies = [body for language, body in blocks if language in languages and body]
        if bodies:
            return bodies[-1]
    start = None if blocks else _START.search(completion)
    return completion[start.start() :].strip() if start else None


def last_boxed(text: str) -> str | None:
    r"""What stands in the last \boxed{...} whose braces close, or none."""
    for match in reversed([*_BOXED.finditer(text)]):
        depth = 1
        for at in range(match.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0) if text[at - 1] != "\\" else 0
            if depth == 0:
                return text[match.end() : at].strip()
    return None


def tagged(text: str) -> str | None:
    """What follows the last `####`, as GSM8K marks its answers, or none."""
    answers = _TAGGED.findall(text)
    return answers[-1].strip() if answers else None
