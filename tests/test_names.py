"""A name is the noun of what it holds, in the field's words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_architecture import PACKAGES, ROOT, SOURCES

NAME_NOTHING = {
    *("found", "told", "said", "asked", "kept", "held", "each", "of", "those", "them", "some", "made"),
    *("ways", "how", "wanted", "others", "alike", "far", "whole", "beside", "known", "seen", "here", "there"),
}
"""Participles and pronouns, which say nothing of what a name holds."""
REPLACED = re.compile(r"laws?|told|luck|lucky|twins?|repairs?|pull(?:s|ed)?|kept|lotter(?:y|ies)")
"""Words that prose may not use either (tests/test_vocabulary.py has those that stand in their place)."""
EXCEPTIONS: dict[str, str] = {}
"""Names that are allowed, with the reason."""


def bound(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the name of every variable, field, argument, function and class."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name


def words(name: str) -> list[str]:
    """The words of an identifier, snake or camel case, in lower case."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return [part.lower() for part in parts]


def names_nothing(name: str) -> bool:
    return name.strip("_").lower() in NAME_NOTHING or any(map(REPLACED.fullmatch, words(name)))


@pytest.mark.parametrize("package", PACKAGES)
def test_names_say_what_they_hold(package):
    hits = []
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] == package:
            tree = ast.parse(path.read_text())
            hits += [
                f"{path.relative_to(ROOT)}:{line}: {name}"
                for line, name in bound(tree)
                if names_nothing(name) and name not in EXCEPTIONS
            ]
    assert hits == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("found", True),
        ("_KEPT", True),
        ("token_law", True),
        ("RunLaw", True),
        ("claw", False),
        ("log_odds", False),
    ],
)
def test_the_rule_itself(name, expected):
    assert names_nothing(name) is expected


def test_files_are_named_by_their_subject():
    stems = {path.stem: path for path in SOURCES if names_nothing(path.stem)}
    assert stems == {}


def test_one_class_name_has_one_meaning():
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(Path(ROOT))))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
