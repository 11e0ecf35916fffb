"""What templates do with words: theorems as links in running text, families as their members, numbers."""

import re
from collections.abc import Iterable

from markupsafe import Markup

from dph_theory.theorems import THEOREMS

_SYMBOLS = {"A1"}
"""Families whose names alone mean something else: A1 is the base's pass rate."""
_NAMED = re.compile(r"\b([A-H]\d{1,2}(?:\.\w+)?)\b")
_LINK = Markup('<a href="#{}">{}</a>')


def linked(text: str) -> Markup:
    """Text, escaped, in which every theorem or family that is named links to its place."""
    targets = ((part, _target(part)) for part in _NAMED.split(text))
    return Markup("").join(_LINK.format(target, part) if target else part for part, target in targets)


def _target(name: str) -> str | None:
    return None if name in _SYMBOLS else next(iter(members([name])), None)


def members(names: Iterable[str]) -> list[str]:
    """The theorems that names or families stand for, in the registry's order."""
    wanted = set(names)
    return [name for name in THEOREMS if name in wanted or name.partition(".")[0] in wanted]


def number(value: float | str | None, form: str) -> str:
    """A number, or the dash that stands for none; infinite ones are kept in words by JSON."""
    if value is None:
        return "–"
    return format(float(value), form) if float(value) else "0"


def is_numeric(words: object) -> bool:
    """Whether a number stands in a table's cell."""
    return any(sign.isdigit() for sign in str(words))


def count(amount: int, noun: str) -> str:
    """Such as: 1 stage, 2 stages."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"
