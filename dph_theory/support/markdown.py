"""Text inside Markdown pages."""

import re


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    return re.sub(r"([\\`*_|<])", r"\\\1", text)
