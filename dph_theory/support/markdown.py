"""Text and tables inside Markdown pages."""

import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    return re.sub(r"([\\`*_|<])", r"\\\1", text)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, its cells shown as they are."""
    lines = [headers, ["---"] * len(headers), *(map(escaped, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
