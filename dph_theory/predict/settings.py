"""What a reader reads of a run's settings, and what nothing read."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..support.errors import argument_error, closest_name
from .run_files import Unknown, matching

T = TypeVar("T")
_SHORT = 5
"""Of a word so short a slip is another word as well: dppo is no dapo."""
_OFF: tuple[Any, ...] = (0, "", [], {}, ())
_SWITCHES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True)
class TrainerSettings:
    """Settings by name, with a default where they are silent; it notes which names were read.

    Parameters: given, the settings; trainer and version, to be named; defaults, those in place of the
    readers', by the version from which they hold. `undecided` says by name what was read and is not known,
    in whose place a reader has the default; `idle` are the names that have no effect.
    """

    given: Mapping[str, Any]
    trainer: str
    version: str
    defaults: Mapping[str, Mapping[str, Any]]
    names_read: set[str] = field(default_factory=set)
    undecided: dict[str, str] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    prefix: str = ""

    def under(self, prefix: str) -> "TrainerSettings":
        """The same settings, by the rest of the names that begin so."""
        return replace(self, prefix=prefix)

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.given

    def get(self, name: str, default: Any = None) -> Any:
        """The value, and for a null the default, which the version may decide."""
        name = self.prefix + name
        self.names_read.add(name)
        value = self.given.get(name)
        if isinstance(value, Unknown):
            self.undecided[name] = f"{assignment(name, value)} (not known)"
            value = None
        if value is None and name in self.defaults:
            default = default_at(self.version, self.defaults[name])
            if isinstance(default, str) and default.startswith("not "):
                default = not self.under("").on(default.removeprefix("not "))
        return default if value is None else value

    def number(self, name: str, default: float, *, at_least: float = 0) -> float:
        """A number, at least that."""
        value = self.get(name, default)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not at_least <= number < math.inf:
            raise argument_error(self.prefix + name, value, f"a number, at least {at_least:g}")
        return number

    def count(self, name: str, default: float, *, at_least: int = 1) -> float:
        """A whole number."""
        number = self.number(name, default)
        if number < at_least or number % 1:
            allowed = f"a whole number, at least {at_least}"
            raise argument_error(self.prefix + name, self.get(name, default), allowed)
        return number

    def on(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self.get(name, default)
        switch = _SWITCHES.get(str(value).lower().removesuffix(".0"))
        if switch is None:
            raise argument_error(self.prefix + name, value, "true or false")
        return switch

    def word(self, name: str, default: str, allowed: Collection[str]) -> str:
        """A word, one of those allowed."""
        value = self.get(name, default)
        word = str(value) if str(value) in allowed else str(value).lower()
        if word not in allowed:
            name, near = self.prefix + name, closest_name(word, allowed)
            if near and len(word) <= _SHORT and len(near) == len(word) and sorted(near) != sorted(word):
                near = None
            hint = f"; is {near} meant?" if near else ""
            self.undecided[name] = f"{flag(name)}={value} (not known here{hint})"
            return default
        return word

    def meaning(self, name: str, default: str, meanings: Mapping[str, T]) -> T:
        """What a word stands for."""
        return meanings[self.word(name, default, meanings)]

    def holds(self, start: str) -> bool:
        """Whether some setting begins so."""
        start = self.prefix + start
        return any(name.startswith(start) and value is not None for name, value in self.given.items())

    def inert(self, why: str, *names: str) -> list[str]:
        """Those of the names that are set, and why that has no effect."""
        full_names = [self.prefix + name for name in names]
        self.names_read.update(full_names)
        self.idle.update(full_names)
        return [f"{flag(name)} ({why})" for name in full_names if self.given.get(name) is not None]

    def assignments(self, *names: str) -> list[str]:
        """Those of the names that are set to something, as they are written."""
        off = (None, False, "null")
        return [f"{self.prefix}{name}={self.get(name)}" for name in names if self.get(name) not in off]

    def unread(
        self,
        plain: Mapping[str, Collection[Any]],
        harmless: Collection[str],
        clips: Collection[str],
        typed: Collection[str],
    ) -> tuple[list[str], list[str], dict[str, str]]:
        """What no reader read: names that change no policy; clips; with what to say of them, the others.

        Parameters: `plain`, the values at which a setting changes nothing; `harmless`, names that change
        none whatever their value, with the wildcards of `fnmatch`; `clips`. What is in a section whose
        `enable` or `enabled` is false changes nothing. Of the others those that are all
        but a name that is read stand first, and one that is off and not `typed` changes nothing.
        """
        without_effect, clipping = list[str](), list[str]()
        switches = [name for name, value in self.given.items() if value is False]
        sections = tuple(
            name.rpartition("enable")[0] for name in switches if name.endswith((".enable", ".enabled"))
        )
        near_misses, switched_on = dict[str, str](), dict[str, str]()
        for name, value in self.given.items():
            if name in self.names_read:
                continue
            listed = value in plain[name] if name in plain else bool(matching(harmless, [name]))
            off = value in _OFF or str(value).lower() in ("none", "null", "false")
            off = off and name not in plain and name not in typed
            near = (
                None if name in plain else closest_name(name, {*self.names_read, *plain, *harmless, *clips})
            )
            hint = "" if near is None else f"; is {flag(near)} meant?"
            why = "not known" if isinstance(value, Unknown) else "not read"
            message = f"{assignment(name, value)} ({why}{hint})"
            if value is None or listed or name.startswith(sections):
                without_effect.append(name)
            elif name in clips:
                clipping.append(f"{assignment(name, value)} (a clip: it acts on later updates of a batch)")
            elif near in self.names_read and near not in self.given:
                near_misses[name] = message
            elif off:
                without_effect.append(name)
            else:
                switched_on[name] = message
        return without_effect, clipping, near_misses | switched_on


def flag(name: str) -> str:
    """A setting as it is written: words joined by dashes are a command line's."""
    return f"--{name}" if "-" in name and "." not in name else name


def assignment(name: str, value: Any) -> str:
    """A setting with its value, as it is written; what is no setting stands alone."""
    return name if value == Unknown("") else f"{flag(name)}={value}"


COMMIT = (10**9,)
"""A version that is no dotted number: after all others."""


def version_parts(version: str) -> tuple[int, ...]:
    """A dotted version's parts; of what is none (a commit), after all others."""
    parts = version.split(".")[:3]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else COMMIT


def default_at(version: str, defaults: Mapping[str, Any]) -> Any:
    """The default that holds at a version, of those by the version from which they do."""
    oldest_first, at = sorted(defaults, key=version_parts), version_parts(version)
    return defaults[([since for since in oldest_first if version_parts(since) <= at] or oldest_first[:1])[-1]]
