"""The answer in a completion: its last SQL block, its last boxed expression."""

import re

# A word after the fence is a language if it is SQL's name, or all that its line holds.
_FENCE = re.compile(
    r"```[ \t]*(?P<language>(?:sqlite|sql)\b|\w*(?=[ \t]*\n)|)(?P<body>.*?)(?:```|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_START = re.compile(r"^[ \t]*(?:select|with)\b", re.IGNORECASE | re.MULTILINE)
_BRACES = re.compile(r"(?P<box>\\(?:boxed|fbox)\s*\{)|(?P<escaped>\\.)|[{}]", re.DOTALL)
_ANSWER = re.compile(r"<answer>(?P<answer>.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
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
    """What follows the last `####`, as GSM8K marks its answers, or none."""
    answers = _TAGGED.findall(text)
    return answers[-1].strip() if answers else None


def last_marked(text: str) -> str | None:
    r"""What stands in the mark that begins last, or none: a \boxed{...}, <answer>, or `####`.

    Beside another mark `####` counts where the text ends with it: elsewhere it is a heading.
    """
    box = _last_box(text)
    marks = [*(match.span("answer") for match in _ANSWER.finditer(text)), *([box] if box else [])]
    tags = [match.span("answer") for match in _TAGGED.finditer(text)]
    if tags and not (marks and text[tags[-1][1] :].strip()):
        marks.append(tags[-1])
    return text[slice(*max(marks))].strip() if marks else None
