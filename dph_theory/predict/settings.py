"""A run's settings, as its file and its command line have them, and what of them was asked for."""

import ast
import json
import math
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from ..support.errors import argument_error, meant

T = TypeVar("T")


class Asked:
    """Settings by name, with a default where they are silent; it notes which names were asked for.

    Parameters: settings; trainer and version, as a configuration tells them.
    """

    def __init__(self, settings: Mapping[str, Any], trainer: str = "", version: str = "") -> None:
        self.settings, self.trainer, self.version = settings, trainer, version
        self.before, self.known = "", set[str]()

    def under(self, before: str) -> "Asked":
        """The same settings, by the rest of the names that begin so."""
        found = copy(self)
        found.before = before
        return found

    def __contains__(self, name: str) -> bool:
        return self.before + name in self.settings

    def get(self, name: str, default: Any = None) -> Any:
        """The value, the default for a null; ValueError for one that does not stand in the settings."""
        self.known.add(self.before + name)
        value = self.settings.get(self.before + name)
        if isinstance(value, Unread) or (isinstance(value, str) and value.startswith("$")):
            raise self.refused(name, str(value), "a value that stands in the settings")
        return default if value is None else value

    def refused(self, name: str, value: Any, allowed: str) -> ValueError:
        """The error for a setting's value."""
        return argument_error(self.before + name, value, allowed)

    def number(self, name: str, default: float, *, at_least: float = 0) -> float:
        """A number, at least that."""
        value = self.get(name, default)
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not at_least <= found < math.inf:
            raise self.refused(name, value, f"a number, at least {at_least:g}")
        return found

    def count(self, name: str, default: float, *, at_least: int = 1) -> float:
        """A whole number."""
        found = self.number(name, default)
        if found < at_least or found % 1:
            raise self.refused(name, self.get(name, default), f"a whole number, at least {at_least}")
        return found

    def on(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self.get(name, default)
        known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        found = known.get(str(value).lower().removesuffix(".0"))
        if found is None:
            raise self.refused(name, value, "true or false")
        return found

    def word(self, name: str, default: str, allowed: Collection[str]) -> str:
        """A word, one of those allowed."""
        given = self.get(name, default)
        value = str(given)
        value = value if value in allowed else value.lower()
        if value not in allowed:
            near = meant(value, allowed)
            words = f"one of {', '.join(allowed)}"
            raise self.refused(name, given, f"{words}; is {near} meant?" if near else words)
        return value

    def one(self, name: str, default: str, of: Mapping[str, T]) -> T:
        """What a word stands for."""
        return of[self.word(name, default, of)]

    def holds(self, start: str) -> bool:
        """Whether some setting begins so."""
        start = self.before + start
        return any(name.startswith(start) and value is not None for name, value in self.settings.items())

    def idle(self, why: str, *names: str) -> list[str]:
        """Those of the names that are set, and why that has no effect."""
        return [f"{flag(self.before + name)} ({why})" for name in names if self.get(name) is not None]

    def said(self, *names: str) -> list[str]:
        """Those of the names that are set to something, as they are written."""
        off = (None, False, "null")
        return [f"{self.before}{name}={self.get(name)}" for name in names if self.get(name) not in off]

    def rest(
        self, plain: Mapping[str, Collection[Any]], harmless: Collection[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What no reader asked for: names that change no law, and names with the value that was not read.

        Parameters: `plain`, the values at which a setting changes nothing; `harmless`, names that change no
        law whatever their value, with the wildcards of `fnmatch`. Raises ValueError for a name that is all
        but one that is read, or that stands in `plain`.
        """
        without, unread = [], []
        read = self.known | set(plain)
        for name, value in self.settings.items():
            if name in self.known or isinstance(value, Loose):
                continue
            if any(fnmatchcase(name, each) for each in harmless):
                without.append(name)
            elif name not in plain and (near := meant(name, read)):
                raise argument_error("setting", flag(name), f"nothing reads it; is {flag(near)} meant?")
            elif value is None or value in plain.get(name, ()):
                without.append(name)
            else:
                unread.append(f"{flag(name)}={value}")
        return tuple(without), tuple(unread)


def flag(name: str) -> str:
    """A setting as it is written: words joined by dashes are a command line's."""
    return f"--{name}" if "-" in name and "." not in name else name


@dataclass(frozen=True)
class Unread:
    """An expression in a Python file that stands for a value."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Loose(Unread):
    """What follows a word of a command line that is no setting, unless a reader asks for one of its name."""

    def __str__(self) -> str:
        return f"{self.text}, without ="


def read(path: Path, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Settings of a file and overrides, by name joined by dots.

    The file is YAML, JSON or TOML, Python with a call of GRPOConfig, or holds a command line. A file that it
    names under `defaults` is read first. Raises ValueError for a file that holds no settings.
    """
    text = path.read_text(encoding="utf-8")
    variables: dict[str, Any] = {}
    if path.suffix in _TREES:
        tree = _TREES[path.suffix](text)
        if not isinstance(tree, dict):
            raise argument_error("config", str(path), "a file of settings, name by name")
        found = flat(tree)
    elif path.suffix == ".py":
        found = _called(path, text)
    else:
        variables, found = _of_script(text.replace("\\\n", " "))
    if not found:
        raise argument_error("config", str(path), "a file that holds settings")
    base = found.get("defaults")
    if isinstance(base, str) and (path.parent / base).is_file():
        found = {**read(path.parent / base), **found, "defaults": None}
    found |= overridden(overrides)
    return {name: _resolved(found | variables, value) for name, value in found.items()}


def _of_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise ValueError("to read YAML needs PyYAML, which is not installed") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from error


_TREES: Mapping[str, Callable[[str], Any]] = {
    ".json": json.loads,
    ".toml": tomllib.loads,
    ".yaml": _of_yaml,
    ".yml": _of_yaml,
}


def _of_script(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables that a script sets, and the settings of its commands.

    A variable stands before the command of its line, is in capitals, or is used as $name.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars="\n;")
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    of_shell, others, leading = list[str](), list[str](), True
    for word in (_ASSIGNED.sub(r"\1=\2", each) for each in lexer):
        name, equals, _ = word.partition("=")
        assigned = bool(equals) and name.isidentifier()
        used = name.isupper() or re.search(rf"\$[{{(]*{re.escape(name)}\b", text)
        if assigned and (leading or used):
            of_shell.append(word)
        elif word.strip("\n;"):
            others.append(word)
            leading = leading and word == "export"
        else:
            leading = True
    if not others:  # No command: what stands there are settings.
        return {}, _arguments(of_shell)
    return _arguments(of_shell), _arguments(others)


def overridden(words: Sequence[str]) -> dict[str, Any]:
    """Settings given as NAME=VALUE; ValueError for a word that is none."""
    for word in words:
        name, equals, _ = word.partition("=")
        if not (equals and name.strip("+-")):
            raise argument_error("setting", word, "NAME=VALUE, such as beta=0.04")
    return _arguments(list(words))


def flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings, their names joined by dots."""
    found: dict[str, Any] = {}
    for name, inner in value.items():
        nested = isinstance(inner, Mapping)
        found |= flat(inner, f"{before}{name}.") if nested else {f"{before}{name}": inner}
    return found


def _called(path: Path, text: str) -> dict[str, Any]:
    """The arguments of the call of a GRPOConfig; those that are no literals are told by their text."""
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("GRPOConfig"):
            given = {word.arg: word.value for word in node.keywords if word.arg is not None}
            return {"loss_type": None} | {name: _literal(value) for name, value in given.items()}
    raise argument_error("config", str(path), "a Python file that calls GRPOConfig")


def _literal(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return Unread(ast.unparse(value))


_VARIABLE = re.compile(r"\$\{?([\w.]+)(?::-([^}]*))?\}?")
_ASSIGNED = re.compile(r"\$\{(\w+):=(.*)\}")


def _resolved(found: Mapping[str, Any], value: Any) -> Any:
    """What "${another.name}", "$NAME" or "${NAME:-value}" stands for."""
    for _ in range(len(found)):
        name = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if name is None or (name[1] not in found and name[2] is None):
            break
        value = found[name[1]] if name[1] in found else _value(name[2])
    return value


def _arguments(words: list[str]) -> dict[str, Any]:
    """name=value, +name=value, --name value, --name=value and --name alone; other words are left out."""
    found: dict[str, Any] = {}
    for place, word in enumerate(words):
        name, equals, value = word.lstrip("+-").partition("=")
        # The dashes of a name with dots stand for underscores.
        name = name.replace("-", "_") if "." in name else name
        if equals and name:
            found[name] = _value(value)
        elif word.startswith("--") and name:
            after = words[place + 1] if place + 1 < len(words) else "--"
            numbers = list(takewhile(_is_number, words[place + 1 :]))
            if len(numbers) > 1:
                found[name] = " ".join(numbers)
            else:
                found[name] = True if after.startswith("--") or "=" in after else _value(after)
        elif name.isidentifier() and place + 1 < len(words):
            found.setdefault(name, Loose(words[place + 1]))
    return found


def _is_number(text: str) -> bool:
    return type(_value(text)) in (int, float)


def _value(text: str) -> Any:
    for number in (int, float):  # A whole number is told as it was typed.
        with suppress(ValueError):
            return number(text)
    return {"true": True, "false": False, "null": None, "none": text}.get(text.lower(), text.strip("'\""))
