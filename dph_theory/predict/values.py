"""Values of settings as files give them, and their plain names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class Unresolved(str):
    """A text that stands in a file where the file does not give the value."""


@dataclass(frozen=True)
class Stated:
    """One value of a setting, where it stands, and whether it stands in a branch that may not be taken."""

    value: Any
    where: str
    conditional: bool = False


Settings = dict[str, list[Stated]]
"""All values of each setting, by plain name."""


def plain(name: str) -> str:
    """Setting's name in the form in which names are compared: --a-b and +a_b become a_b."""
    return name.lstrip("+-").replace("-", "_")


def scalar(text: str) -> Any:
    """Word of a file as a truth value, None, number or text."""
    text = text.strip().replace("\\'", "'").replace('\\"', '"')
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    words = {"true": True, "false": False, "null": None, "none": None, "~": None, "": None}
    try:
        return words[text.lower()] if text.lower() in words else float(text.replace("_", ""))
    except ValueError:
        return text


def shown(value: Any) -> str:
    """Value as the tables write it, such as true, none, 0.2, or list entries joined by spaces."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(map(shown, value))
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)


def collected(pairs: Iterable[tuple[str, Stated]]) -> Settings:
    """Settings from pairs: all values of each plain name, in the order of the file."""
    settings: Settings = {}
    for name, one in pairs:
        settings.setdefault(plain(name), []).append(one)
    return settings


def arithmetic(text: str) -> float:
    """Value of numbers joined by * and /, evaluated from left to right."""
    first, *rest = re.findall(r"[*/]|[^*/\s]+", text)
    result = float(first)
    for sign, number in zip(rest[::2], rest[1::2], strict=True):
        result = result * float(number) if sign == "*" else result / float(number)
    return result
