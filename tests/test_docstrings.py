"""Docstrings are sentences in modern technical English: none opens with a pronoun or uses an old word."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_architecture import ROOT, SOURCES

OPENERS = re.compile(
    r"(?:Of|The same|As|What|While|Where|Whence|Whether|Those|That|It|(?:From|By|With|In|On|To) what)\b"
    r"|One(?:'s\b| that\b| which\b)"
)
"""Words with which a reader has to guess the noun that a docstring is about."""
OLD_WORDS = re.compile(
    r"\b(?:told|kept|held)\b(?![ -]out)|\w less (?:the|its|their|a|an|that|what|log|[A-Z0-9])\b|\bwhence\b",
    re.I,
)
"""Words with a modern one in their place: matched, constant, distinguished, minus, from where."""
ROOMS = {"dph_theory/predict": 19, "dph_theory/transfer": 9}
"""Rooms that are still to be rewritten, with the number of their offenders: it may only fall."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring: of modules, classes, functions, and of values above them."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def offends(text: str) -> bool:
    prose = re.sub(r"`[^`]*`|>>> .*(?:\n .*)?", "", text)
    return bool(OPENERS.match(text.strip()) or OLD_WORDS.search(prose))


def room(path: Path) -> str:
    """The room of `ROOMS` that the file belongs to, or its own path if the file has to be clean."""
    place = path.relative_to(ROOT).as_posix()
    return max((name for name in ROOMS if place.startswith(name)), key=len, default=place)


def offenders() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        for line, text in docstrings(path):
            if offends(text):
                places.setdefault(room(path), []).append(f"{path.relative_to(ROOT)}:{line}: {text[:60]!r}")
    return places


def test_docstrings_say_the_noun_in_modern_words():
    assert [place for name, places in offenders().items() if name not in ROOMS for place in places] == []


def test_the_rooms_to_be_rewritten_have_no_more_offenders_than_before():
    counts = Counter({name: len(places) for name, places in offenders().items() if name in ROOMS})
    assert {name: count for name, count in counts.items() if count > ROOMS[name]} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Of the sequence KL.", True),
        ("The same with one axis of sequences.", True),
        ("Whether the value is finite.", True),
        ("The reward less the mean.", True),
        ("Log-ratios are held constant.", True),
        ("Accuracy on held-out prompts.", False),
        ("One table per position.", False),
        ("Assemble the report.", False),
        ("Return `what` was kept by `kept`.", True),
    ],
)
def test_the_rule_itself(text, expected):
    assert offends(text) is expected
