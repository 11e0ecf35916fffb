"""A trainer's table over the settings of a run: answers, what decides them, and what is not read.

`docs/maintain.md` describes the tables. A table's row is "test & test -> text"; the first row that holds
gives the answer. A value that the file does not give stays open: rows that may hold give their text too, so
an open value leaves open only the answers that depend on it.
"""

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..support.errors import argument_error, closest_name
from .values import Settings, Stated, Unresolved, arithmetic, plain, scalar, shown

_UNSET: dict[str, Any] = {
    **{key: MappingProxyType({}) for key in ("words", "since", "retains")},
    **dict.fromkeys(("programs", "quiet", "names", "marks"), ()),
    "enough": 2, "calls": "(?!)", "pinned": False, "rate": "", "steps": "",
}  # fmt: skip
"""The keys that a table need not have."""


@cache
def tables() -> dict[str, dict[str, Any]]:
    """Settings tables by trainer; a table with `like` inherits missing keys from the table it names."""
    files = sorted((Path(__file__).parent / "tables").glob("*.toml"))
    by_name = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
    common = by_name.pop("common")
    for table in by_name.values():
        base = by_name.get(table.get("like", ""), {})
        parts = {key: {**base[key], **own} for key, own in table.items() if isinstance(base.get(key), dict)}
        table |= {**_UNSET, **base, **table, **parts, "sounds": common["sounds"]}
        table["changes"] = common["changes"] | table["changes"]
        shared = common["answers"].items()
        own = {key: rows for key, rows in shared if _roles(rows) <= table["settings"].keys()}
        table["answers"] = own | table["answers"]
    return by_name


def trainer_named(name: str) -> str:
    """Canonical name of a trainer written in any case; ValueError suggests the nearest known name."""
    if name.lower() in tables():
        return name.lower()
    near, allowed = closest_name(name.lower(), tuple(tables())), f"one of {', '.join(tables())}"
    raise argument_error("trainer", name, f"{allowed}; is {near} meant?" if near else allowed)


def trainer_of(settings: Settings, text: str) -> str | None:
    """Trainer whose table matches the settings' names and the file's text best; None if too few match."""
    names = [name.rpartition("Config.")[2] for name in settings]

    def score(table: dict[str, Any]) -> int:
        patterns = [plain(f"{name}*" if name[-1] == "." else name) for name in table["names"]]
        own = sum(any(fnmatchcase(name, pattern) for name in names) for pattern in patterns)
        return own + 2 * sum(mark in text for mark in table["marks"]) - int(table["enough"])

    best = max(tables(), key=lambda name: score(tables()[name]))
    return best if score(tables()[best]) >= 0 else None


def numbers(version: str) -> tuple[int, ...]:
    """Version "0.18.1" as a tuple of at most three integers, for comparison."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


@dataclass(frozen=True)
class Choice:
    """A value that a setting may have: in the table's words, as written, and where ("": the default)."""

    value: str
    name: str
    written: str
    where: str = ""

    def __str__(self) -> str:
        """Such as n=8 (line 12)."""
        return f"{self.name.removeprefix('text:').rpartition('.')[2]}={_at(self.written, self.where)}"

    @property
    def is_open(self) -> bool:
        """True if the value is an expression that the file does not resolve."""
        return isinstance(self.value, Unresolved)


def _at(value: str, where: str) -> str:
    """Words for a value with its line in the file, or (default)."""
    return f"{value} ({f'line {where}' if where[:1].isdigit() else where or 'default'})"


@cache
def _row(line: str) -> tuple[list[str], str, set[str]]:
    """Parse a table row "test & test -> text" into tests, text, and the settings that both mention."""
    left, _, text = (part.strip() for part in line.rpartition("->"))
    tests = left.split(" & ") if left else []
    in_text = re.findall(r"\w+" if text.startswith("= ") else r"\{(\w+)\}", text)
    return tests, text, {*in_text, *(re.findall(r"\w+", test)[0] for test in tests)}


def _roles(lines: list[str]) -> set[str]:
    return {role for line in lines for role in _row(line)[2]}


@dataclass
class Answer:
    """The texts that rows give, each with the choices that lead to that text alone, and all choices."""

    texts: dict[str, list[Choice]] = field(default_factory=dict)
    used: dict[str, list[Choice]] = field(default_factory=dict)

    @property
    def is_certain(self) -> bool:
        """True if every choice leads to one text and that text has no unresolved value."""
        return len(self.texts) == 1 and "$" not in "".join(self.texts)

    @property
    def doubts(self) -> list[list[Choice]]:
        """Choices of each setting that is ambiguous or unresolved; empty if the answer is certain."""
        doubts = (several for several in self.used.values() if len(several) > 1 or several[0].is_open)
        return [] if self.is_certain else [*doubts]


class SettingsReading:
    """The settings of a run under the table of its trainer.

    Args:
        trainer: A name of `tables`.
        settings: Settings as `scan` gives them.
        text: The file's text, for marks such as the name of a program.
        version: The trainer's version; by default every version that has all the names in the file.
    """

    def __init__(self, trainer: str, settings: Settings, text: str = "", version: str | None = None) -> None:
        self.trainer, self.table, self.text, self.chosen = trainer, tables()[trainer], text, version
        self.roles: dict[str, list[Any]] = self.table["settings"]
        names = [name for _, *names in self.roles.values() for name in names]
        self.given: Settings = {}
        for name, ones in settings.items():  # GRPOConfig.beta is beta.
            match = re.fullmatch(rf"(?:{self.table['calls']})\.(\w+|\*\*.*)", name)
            self.given.setdefault(match[match.lastindex or 0] if match else name, []).extend(ones)
        for name, ones in self.given.items():  # What a user types counts in place of the file's.
            self.given[name] = [one for one in ones if one.where == "given"] or ones
        marks = [name for name in names if name[:5] == "text:" and name[5:] in text]
        self.given |= {plain(name): [Stated(True, "text")] for name in marks}
        self.read = {plain(name.partition("<")[0]) for name in names}
        self.versions = self._versions(version, [name.partition("<")[2] for name in names if "<" in name])

    def _versions(self, version: str | None, ended: list[str]) -> list[str]:
        """Trainer versions with a changed default or name, newest first, as far as the file allows.

        `ended` has the versions in which a setting's name disappeared.
        """
        defaults = (default for default, *_ in self.roles.values() if isinstance(default, dict))
        steps = {*ended, *(step for default in defaults for step in default)}
        since = self.table["since"].items()
        bounds = [bound for bound, names in since if any(plain(name) in self.given for name in names.split())]
        ends = [bound[1:] for bound in bounds if bound[0] == "<"]
        self.version = version or (f"before {min(ends, key=numbers)}" if ends else str(self.table["version"]))
        newest = numbers(version or self.table["version"])
        oldest = newest
        if version is None and not self.table["pinned"]:
            oldest = max((numbers(bound) for bound in bounds if bound[0] != "<"), default=(0,))
        inside = {step for step in steps if oldest < numbers(step) <= newest
                  and all(numbers(step) < numbers(end) for end in ends)}  # fmt: skip
        before = [step for step in steps if numbers(step) <= oldest] or [min(steps, key=numbers, default="0")]
        return sorted({*inside, max(before, key=numbers)}, key=numbers, reverse=True)

    def _matching(self, pattern: str) -> list[str]:
        """Names in the file that match a table's name or pattern."""
        name = plain(pattern)
        keys = self.given if "*" in name else self.given.keys() & {name}
        return [key for key in keys if fnmatchcase(key, name)]

    def choices(self, role: str, version: str) -> list[Choice]:
        """Values that a setting may have: the file's, and the default if the file's are conditional."""
        default, *names = self.roles[role]
        words, choices = self.table["words"].get(role, {}), list[Choice]()
        for name, _, ended in (name.partition("<") for name in names):
            late = ended and numbers(version) >= numbers(ended)
            ones = [] if late else [one for key in self._matching(name) for one in self.given[key]]
            for one, text in ((one, shown(one.value)) for one in ones):
                value = one.value if isinstance(one.value, Unresolved) else words.get(text, text)
                choices.append(Choice(value, name, text, one.where))
            if not all(one.conditional for one in ones):
                break
        else:
            if isinstance(default, dict):
                past = (step for step in default if numbers(step) <= numbers(version))
                default = default[max(past, key=numbers, default=min(default, key=numbers))]
            written = shown(default)
            choices.append(Choice(words.get(written, written), names[0] if names else role, written))
        return [*{choice.value: choice for choice in reversed(choices)}.values()][::-1]

    def answer(self, key: str, version: str | None = None) -> Answer:
        """Texts that the table gives for a question, such as "advantage", at a version (newest if None)."""
        lines = self.table["answers"].get(key, ["-> "])
        roles = [role for role in self.roles if role in _roles(lines)]
        choices = [self.choices(role, version or self.versions[0]) for role in roles]
        paths: dict[str, list[tuple[Choice, ...]]] = {}
        looked_at: set[str] = set()
        for chosen in product(*choices):
            for text in _texts(lines, dict(zip(roles, chosen, strict=True)), looked_at):
                paths.setdefault(text, []).append(chosen)
        used = {role: several for role, several in zip(roles, choices, strict=True)
                if role in looked_at and self.roles[role][1:]}  # fmt: skip
        return Answer({text: _alone(chosen, choices) for text, chosen in paths.items()}, used)

    def decided(self, keys: Sequence[str]) -> str:
        """First ambiguous setting behind the answers to `keys`, as NAME=VALUE with a possible value."""
        several = next(doubt for key in keys for doubt in self.answer(key).doubts)
        values = [choice.written for choice in several if not choice.is_open]
        default = next(row[0] for row in self.roles.values() if several[0].name in row[1:])
        return f"{several[0].name}={values[0] if values else shown(default)}"

    @cached_property
    def changes(self) -> list[tuple[str, str]]:
        """(setting, effect) for each given setting that changes the loss in a way the answer leaves out."""
        changes = []
        for patterns, line in self.table["changes"].items():
            harmless, _, effect = line.partition(": ")
            for key in (key for pattern in patterns.split() for key in self._matching(pattern)):
                self.read.add(key)
                for one in self.given[key]:
                    if not re.fullmatch(harmless, shown(one.value).lower()):
                        changes.append((f"{key}={_at(shown(one.value), one.where)}", effect))
                        break
        program = re.search(r"-m\s+((?!torch|accelerate)[\w.]+\.[\w.]+)", self.text)
        programs = self.table["programs"]
        if program and programs and not any(name in self.text for name in programs):
            own = "a program of its own, not the trainer's, which may have another loss"
            changes.append((program[1], own))
        return changes

    def unread(self) -> tuple[list[str], list[str]]:
        """Names that were not read: first those likely to change the answer, by their sound, then others."""
        loud, rest = list[str](), list[str]()
        for name in self.given.keys() - self.read:
            last, meant = name.rpartition(".")[2], self._meant(name)
            is_off = all(shown(one.value).lower() in ("none", "false") for one in self.given[name])
            sounds = name[:12] == "settings of " or any(re.search(one, last) for one in self.table["sounds"])
            quiet = any(fnmatchcase(name, plain(pattern)) for pattern in self.table["quiet"])
            words = f"{name} (is {meant} meant?)" if meant else name
            (loud if ((sounds and not is_off) or meant) and not quiet else rest).append(words)
        return sorted(loud), sorted(rest)

    def _meant(self, name: str) -> str:
        """Name that was probably meant by a misspelt setting; empty if none is near enough."""
        head, last = re.fullmatch(r"(.*\.)?(.*)", name).groups("")  # type: ignore[union-attr]
        absent = [other for other in self.read - self.given.keys() if other.startswith(head)]
        likeness = 0.8 if self.given[name][0].where == "given" else 0.93
        near = difflib.get_close_matches(last, [other.removeprefix(head) for other in absent], 1, likeness)
        return head + near[0] if near else ""


def _texts(lines: list[str], world: dict[str, Choice], looked_at: set[str]) -> list[str]:
    """Text of the first row whose tests are true, after texts of rows with undecided tests, in order."""
    texts = []
    for tests, text, roles in map(_row, lines):
        certain = True
        for test in tests:
            looked_at.add(re.findall(r"\w+", test)[0])
            holds = _holds(test, world)
            if holds is False:
                break
            certain = certain and holds is not None
        else:
            looked_at |= roles
            texts.append(_filled(text, world))
            if certain:
                break
    return texts


def _holds(test: str, world: dict[str, Choice]) -> bool | None:
    """Result of a test `role`, `!role`, `role=a|b`, `role!=a|b`, `role<1` or `role>1`; None if undecided."""
    no, role, sign, allowed = re.fullmatch(r"(!?)(\w+)(?:(!?=|[<>])(.+))?", test).groups()  # type: ignore[union-attr]
    choice, number = world[role], scalar(world[role].value)
    if choice.is_open or (sign in ("<", ">") and not isinstance(number, float)):
        return None
    if sign in ("<", ">"):
        return bool(number < float(allowed) if sign == "<" else number > float(allowed))
    value = choice.value.lower()
    same = value in allowed.split("|") if allowed else value not in ("false", "none", "0")
    return bool(same != (sign == "!=" or no == "!"))


def _filled(text: str, world: dict[str, Choice]) -> str:
    """Row's text with {setting} replaced by its value; "= a * b" gives the number, at least 1."""
    values = {role: f"${one.value.lstrip('$')}" if one.is_open else one.value for role, one in world.items()}
    if not text.startswith("= "):
        return text.format_map(values)
    try:
        return f"{max(1.0, arithmetic(' '.join(values.get(word, word) for word in text[2:].split()))):g}"
    except (ValueError, ZeroDivisionError):
        return "not given"


def _alone(paths: list[tuple[Choice, ...]], choices: list[list[Choice]]) -> list[Choice]:
    """Ambiguous settings that have the same choice on all `paths` which lead to one text."""
    several = [at for at, values in enumerate(choices) if len(values) > 1]
    return [paths[0][at] for at in several if len({way[at] for way in paths}) == 1]
