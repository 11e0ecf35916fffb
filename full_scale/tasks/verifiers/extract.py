"""Extraction of the answer from a completion: its last SQL block, its last boxed expression."""

import re

# A word after the fence is a language if it names SQL, or if it is alone on its line.
_FENCE = re.compile(
    r"```[ \t]*(?P<language>(?:sqlite|sql)\b|\w*(?=[ \t]*\n)|)(?P<body>.*?)(?:```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_START = re.compile(r"^[ \t]*(?:select|with)\b", re.IGNORECASE | re.MULTILINE)
_BRACES = re.compile(r"(?P<box>\\(?:boxed|fbox)\s*\{)|(?P<escaped>\\.)|[{}]", re.DOTALL)
_ANSWER = re.compile(r"<answer>(?P<answer>.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_TAGGED = re.compile(r"####\s*(?P<answer>[^\n]+)")


def last_sql(completion: str) -> str | None:
    """Query at the end of a completion, or None.

    This is the last block fenced as sql (or sqlite); else the last block without a language; else, for models
    that write plain SQL, everything from the first line that begins with SELECT or WITH. A fence without an
    end runs to the end.
    """
    blocks = [(m["language"].lower(), m["body"].strip()) for m in _FENCE.finditer(completion)]
    for languages in (("sql", "sqlite"), ("",)):
        bodies = [body for language, body in blocks if language in languages and body]
        if bodies:
            return bodies[-1]
    start = None if blocks else _START.search(completion)
    return completion[start.start() :].strip() if start else None


def last_boxed(text: str) -> str | None:
    r"""Content of the last \boxed{...} whose braces close, or None."""
    place = _last_box(text)
    return text[slice(*place)].strip() if place else None


def _last_box(text: str) -> tuple[int, int] | None:
    opened: list[int | None] = []
    last: tuple[int, int] | None = None
    for match in _BRACES.finditer(text):
        if match[0].endswith("{") and not match["escaped"]:
            opened.append(match.end() if match["box"] else None)
        elif match[0] == "}" and opened:
            start = opened.pop()
            if start is not None and (last is None or start > last[0]):
                last = start, match.start()
    return last


def tagged(text: str) -> str | None:
    """Text after the last `####`, GSM8K's mark of answers, or None."""
    answers = _TAGGED.findall(text)
    return answers[-1].strip() if answers else None


def last_marked(text: str) -> str | None:
    r"""Content of the mark that begins last, \boxed{...}, <answer> or `####`, or None.

    Beside another mark `####` counts only if the text ends with it; elsewhere it is a heading.
    """
    box = _last_box(text)
    marks = [*(match.span("answer") for match in _ANSWER.finditer(text)), *([box] if box else [])]
    tags = [match.span("answer") for match in _TAGGED.finditer(text)]
    if tags and not (marks and text[tags[-1][1] :].strip()):
        marks.append(tags[-1])
    return text[slice(*max(marks))].strip() if marks else None
