"""The field's words: docs, output and docstrings have none of the terms that a reader had to learn."""

import ast
import re
from pathlib import Path

import click
import pytest
from support.vocabulary import REPLACED, hits
from test_dph_cli import COMMANDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CODE = r"(?<![A-Za-z])[A-HJ-N][1-9]\d?(?:\.\w+)?(?![A-Za-z0-9_/%-])(?! ?=)"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("appendix/*.md"))]
PRINTED = sorted((DOCS / "transcripts").glob("*.txt"))


def words(path):
    """What is read: without code, addresses of links, and comments."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", path.read_text(), flags=re.M | re.S)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`(?![A-N]\d)[^`\n]*`", "", text))


def found(text, patterns):
    return [text[max(0, hit.start() - 30) : hit.end() + 30] for each in patterns for hit in each]


@pytest.mark.parametrize("path", [*PAGES, *PRINTED], ids=lambda path: path.name)
def test_the_words_are_the_field_s(path):
    text = words(path) if path.suffix == ".md" else path.read_text().partition("\n")[2]
    text = re.sub(r"^.*kl_control\.pass_rate.*$", "", text, flags=re.M)  # A statement's own title.
    assert hits(text) == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_is_in_the_field_s_words(path):
    command = COMMANDS[path]
    options = (option.help or "" for option in command.params if isinstance(option, click.Option))
    assert hits("\n".join((command.help or "", command.short_help or "", *options))) == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_calls_a_statement_by_a_code(path):
    text = re.sub(r"\bA[01]\b|L1 distance", "", words(path))  # The base rate, and one less it.
    assert found(text, [re.finditer(CODE, text)]) == []


ROOMS = ("dph_theory", "toy_lm", "full_scale", "figures")
WHENCE = r"\b(?:Source|Entries):\s(?:(?!\n\s*\n).)*"
"""Where a docstring says whence it is."""
IN_CODE = r"`[^`]*`|>>> .*(?:\n .*)?|\|\| law\b|\bA[01]\b|\bL1 distance"
"""Names, examples and formulas, the base rate A1 and its rest A0 among them."""
SPARED = {next(term for term in REPLACED if "nothing holds" in term): "what a file, a lock or a tensor holds"}
"""Patterns that find other senses in code, with these."""


def docstrings(path):
    """Line and text of every docstring, of values too, of what has no underscore; without names in code."""

    def within(node):
        for before, child in zip([None, *node.body], node.body, strict=False):
            of = before.targets[0] if isinstance(before, ast.Assign) else getattr(before, "target", None)
            public = before is None or (isinstance(of, ast.Name) and not of.id.startswith("_"))
            if public and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                text = re.sub(WHENCE, "", str(child.value.value), flags=re.S)
                yield child.lineno, re.sub(IN_CODE, "", text)
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
                yield from within(child)

    return within(ast.parse(path.read_text()))


@pytest.mark.parametrize("room", ROOMS)
def test_public_docstrings_are_in_the_field_s_words(room):
    terms = [re.compile(term, re.I) for term in REPLACED if term not in SPARED]
    hits = []
    for path in sorted((ROOT / room).rglob("*.py")):
        place, patterns = str(path.relative_to(ROOT)), [*terms, re.compile(CODE)]
        for line, text in docstrings(path):
            hits += [(place, line, hit) for hit in found(text, (each.finditer(text) for each in patterns))]
    assert hits == []
