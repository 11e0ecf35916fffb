"""Small pieces that every section uses: links to theorems in running text, verdicts as badges, numbers."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from dph_theory.theorems import THEOREMS

from .markup import Child, tag

FAMILIES: dict[str, str] = {}
"""The first theorem of each family: A5 -> A5.validity."""
for _name in THEOREMS:
    FAMILIES.setdefault(_name.partition(".")[0], _name)

_SYMBOLS = {"A1"}
"""Families whose names alone mean something else: A1 is the base's pass rate."""
_NAMED = re.compile(r"\b([A-D]\d{1,2}(?:\.\w+)?)\b")


def linked(text: str) -> list[Child]:
    """Text in which every theorem or family that is named links to its place."""
    return [
        tag("a", part, href=f"#{_target(part)}") if _target(part) else part
        for part in _NAMED.split(text)
        if part
    ]


def _target(name: str) -> str | None:
    return name if name in THEOREMS else None if name in _SYMBOLS else FAMILIES.get(name)


def members(names: Iterable[str]) -> list[str]:
    """The theorems that names or families stand for, in the registry's order."""
    wanted = set(names)
    return [name for name in THEOREMS if name in wanted or name.partition(".")[0] in wanted]


def badge(verdict: str) -> Element:
    """A verdict as a small coloured word."""
    return tag("span", verdict, class_=f"badge {verdict.lower()}")


def number(value: float | str | None, form: str) -> str:
    """A number, or the dash that stands for none; infinite ones are kept in words by JSON."""
    if value is None:
        return "–"
    return format(float(value), form) if float(value) else "0"


def count(amount: int, noun: str) -> str:
    """Such as: 1 stage, 2 stages."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"
