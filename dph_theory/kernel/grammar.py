"""Reads the terms of Coq in which the kernel's statements and definitions are written.

A term becomes nested tuples that begin with their kind: ("name", x), ("number", 2.0), ("apply", f, x),
("infix", op, left, right), ("prefix", op, x), ("fun" or "forall" or "exists", names, body), ("if", c, t, e),
("let", x, value, body), ("list", items), ("match", values, cases). Types are read past.
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

Term: TypeAlias = tuple[Any, ...]

_TOKEN = re.compile(
    r"\s+|%nat|%R|[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)*|\d+(?:\.\d+)?"
    r"|<->|->|:=|=>|<=|>=|<>|/\\|\\/|::|\+\+|[()\[\]{},;:|<>=+\-*/^]"
)
_LEVELS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("->",), "right"),
    (("<->",), "right"),
    (("\\/",), "right"),
    (("/\\",), "right"),
    (("=", "<", "<=", ">", ">=", "<>"), "chain"),
    (("::", "++"), "right"),
    (("+", "-"), "left"),
    (("*", "/"), "left"),
)
"""The infix operators from loosest to tightest; `0 <= t <= 1` is a chain."""
_KEYWORDS = {"fun", "forall", "exists", "if", "then", "else", "let", "in", "match", "with", "end", "as"}


class GrammarError(ValueError):
    """A text that is not written in the terms that are read here."""


def without_comments(text: str) -> str:
    """The text of a file without its (nested) comments."""
    kept, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        depth += {"(*": 1, "*)": -1}.get(piece, 0)
        if not depth and piece != "*)":
            kept.append(piece)
    return "".join(kept)


def tokens(text: str) -> list[str]:
    """The words and signs of a text; GrammarError at what is neither."""
    found, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise GrammarError(f"{text[place : place + 20]!r} is not read")
        if not match[0].isspace():
            found.append(match[0])
        place = match.end()
    return found


class _Reader:
    """A recursive descent over the tokens of one term."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.place = 0

    def next(self) -> str:
        """The token here, or "" at the end."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        """The token here, one of those expected if any are, stepped over."""
        token = self.next()
        if not token or (expected and token not in expected):
            rest = " ".join(self.tokens[self.place : self.place + 8])
            raise GrammarError(f"{rest!r} where {' or '.join(expected) or 'a term'} belongs")
        self.place += 1
        return token

    def term(self, level: int = 0) -> Term:
        """A term of this level of the infix operators or tighter."""
        if level == len(_LEVELS):
            return self.prefixed()
        signs, kind = _LEVELS[level]
        left = self.term(level + 1)
        if kind == "right" and self.next() in signs:
            return ("infix", self.take(), left, self.term(level))
        chain: Term | None = None
        while kind != "right" and self.next() in signs:
            sign, right = self.take(), self.term(level + 1)
            if kind == "chain":
                link: Term = ("infix", sign, left, right)
                chain, left = (("infix", "/\\", chain, link) if chain else link), right
            else:
                left = ("infix", sign, left, right)
        return chain or left

    def prefixed(self) -> Term:
        """A sign, an inverse, or a power."""
        if self.next() in ("-", "/"):
            return ("prefix", self.take(), self.prefixed())
        base = self.application()
        if self.next() == "^":
            self.take()
            return ("infix", "^", base, self.prefixed())
        return base

    def application(self) -> Term:
        """A function and its arguments."""
        found = self.atom()
        while (token := self.next()) and token not in _KEYWORDS and (token in "([" or re.match(r"\w", token)):
            found = ("apply", found, self.atom())
        return found

    def atom(self) -> Term:
        """A name, a number, something in brackets, or a construct that begins with a keyword."""
        token = self.take()
        constructs: dict[str, Callable[[], Term]] = {
            "(": self.bracketed,
            "[": self.listed,
            "if": self.conditional,
            "let": self.local,
            "match": self.matching,
        }
        if token in constructs:
            return constructs[token]()
        if token in ("fun", "forall", "exists"):
            names = self.binders("=>" if token == "fun" else ",")
            return (token, names, self.term())
        if token[0].isdigit():
            return self.scoped(("number", float(token)))
        if token[0].isalpha() or token == "_":
            return ("name", token)
        raise GrammarError(f"{token!r} begins no term")

    def scoped(self, term: Term) -> Term:
        """A term and perhaps the mark of its scope; a number marked %nat is natural."""
        if self.next() in ("%nat", "%R"):
            natural = self.take() == "%nat"
            return ("number", int(term[1])) if natural and term[0] == "number" else term
        return term

    def bracketed(self) -> Term:
        """What stands in round brackets: a term, perhaps with its type, or a tuple."""
        items = [self.term()]
        while self.next() == ",":
            self.take()
            items.append(self.term())
        if self.next() == ":":
            self.take()
            self.term()
        self.take(")")
        return self.scoped(items[0] if len(items) == 1 else ("tuple", tuple(items)))

    def listed(self) -> Term:
        """The items of a list, or none."""
        items: list[Term] = []
        while self.next() != "]":
            items.append(self.term())
            if self.next() == ";":
                self.take()
        self.take("]")
        return ("list", tuple(items))

    def conditional(self) -> Term:
        """What follows `if`."""
        condition = self.term()
        self.take("then")
        then = self.term()
        self.take("else")
        return ("if", condition, then, self.term())

    def local(self) -> Term:
        """What follows `let`."""
        name, *arguments = self.binders(":=")
        value = self.term()
        self.take("in")
        return ("let", name, ("fun", tuple(arguments), value) if arguments else value, self.term())

    def matching(self) -> Term:
        """What follows `match`."""
        values = [self.term()]
        while self.next() == ",":
            self.take()
            values.append(self.term())
        self.take("with")
        cases: list[Term] = []
        while self.next() != "end":
            if self.next() == "|":
                self.take()
            patterns = [self.term()]
            while self.next() == ",":
                self.take()
                patterns.append(self.term())
            self.take("=>")
            cases.append((tuple(patterns), self.term()))
        self.take("end")
        return ("match", tuple(values), tuple(cases))

    def binders(self, *ends: str) -> tuple[str, ...]:
        """The names bound before one of the signs, without their types and without those in braces."""
        names: list[str] = []
        while (token := self.next()) not in ends:
            if token in "({":
                group = self.group()
                names += group if token == "(" else []
            elif token == ":":
                self.take()
                self.term()
            else:
                names.append(self.take())
        self.take(*ends)
        return tuple(names)

    def group(self) -> list[str]:
        """The names of one group of binders in brackets."""
        closing = {"(": ")", "{": "}"}[self.take()]
        names = []
        while self.next() not in (":", closing):
            names.append(self.take())
        if self.next() == ":":
            self.take()
            self.term()
        self.take(closing)
        return names


def term(text: str) -> Term:
    """The term that a text is; GrammarError where it is none that is read here."""
    reader = _Reader(text)
    found = reader.term()
    if reader.next():
        raise GrammarError(f"{' '.join(reader.tokens[reader.place :])!r} is left over")
    return found


def definition(text: str) -> tuple[tuple[str, ...], Term]:
    """The arguments and the body of what follows the name in a Definition or a Fixpoint."""
    reader = _Reader(text)
    names = reader.binders(":", ":=") if reader.next() not in (":", ":=") else ()
    if reader.tokens[reader.place - 1] == ":" or (not names and reader.next() == ":"):
        while reader.take() != ":=":
            pass
    elif not names:
        reader.take(":=")
    found = reader.term()
    if reader.next():
        raise GrammarError(f"{' '.join(reader.tokens[reader.place :])!r} is left over")
    return names, found
