"""Docstrings are sentences in modern technical English: none opens with a pronoun or uses an old word."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_architecture import ROOT, SOURCES

OPENERS = re.compile(
    r"(?:Of|The same|As|How|What|While|Where|Whence|Whether|Those|That|It)\b"
    r"|(?:From|By|With|In|On|To) what\b|One(?:'s\b| that\b| which\b)"
)
"""Words with which a reader has to guess the noun that a docstring is about."""
OLD_WORDS = re.compile(
    r"\b(?:told|kept|held)\b(?![ -]out)|\w less (?:the|its|their|a|an|that|what|log|[A-Z0-9])\b|\bwhence\b",
    re.I,
)
"""Words with a modern one in their place: matched, constant, distinguished, minus, from where."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring: of modules, classes, functions, and of values above them."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def offends(text: str) -> bool:
    prose = re.sub(r"`[^`]*`|>>> .*(?:\n .*)?", "", text)
    return bool(OPENERS.match(text.strip()) or OLD_WORDS.search(prose))


def test_docstrings_say_the_noun_in_modern_words():
    places = (
        f"{path.relative_to(ROOT)}:{line}: {text[:60]!r}"
        for path in SOURCES
        for line, text in docstrings(path)
        if offends(text)
    )
    assert [*places] == []


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
