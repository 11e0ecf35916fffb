"""What a reader reads of a run's settings, and what nothing read."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from ..support.errors import argument_error, meant
from .run_files import UnassignedValue, Unknown

T = TypeVar("T")
_SHORT = 5
"""Of a word so short a slip is another word as well: dppo is no dapo."""
_SWITCHES = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class UndecidedSettingError(Exception):
    """A setting that is read and has no known value: its name, what it may be, and what to say of it."""

    def __init__(self, name: str, alternatives: Collection[Any], message: str) -> None:
        super().__init__(name)
        self.name, self.alternatives, self.message = name, alternatives, message


@dataclass(frozen=True)
class TrainerSettings:
    """Settings by name, with a default where they are silent; it notes which names were read.

    Parameters: given, the settings; trainer and version, to be named; defaults, those in place of the
    readers', by the version from which they hold; assumed, what values that are not given are taken to be.
    """

    given: Mapping[str, Any]
    trainer: str
    version: str
    defaults: Mapping[str, Mapping[str, Any]]
    assumed: Mapping[str, Any]
    names_read: set[str] = field(default_factory=set)
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
        value = self.assumed.get(name, self.given.get(name))
        if value is None and name in self.defaults:
            default = default_at(self.version, self.defaults[name])
            if isinstance(default, str) and default.startswith("not "):
                default = not self.under("").on(default.removeprefix("not "))
        return default if value is None else value

    def _known_value(self, name: str, default: Any, alternatives: Collection[Any]) -> Any:
        value = self.get(name, default)
        if isinstance(value, Unknown):
            name = self.prefix + name
            why = f"{flag(name)} {value}" if isinstance(value, UnassignedValue) else "not told"
            raise UndecidedSettingError(name, alternatives, f"{why}: give {flag(name)}=VALUE")
        return value

    def number(
        self, name: str, default: float, *, at_least: float = 0, alternatives: Collection[float] = ()
    ) -> float:
        """A number, at least that."""
        value = self._known_value(name, default, alternatives or (at_least, default, at_least + 0.5))
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not at_least <= number < math.inf:
            raise argument_error(self.prefix + name, value, f"a number, at least {at_least:g}")
        return number

    def count(self, name: str, default: float, *, at_least: int = 1) -> float:
        """A whole number."""
        number = self.number(name, default, alternatives=(default, at_least, 8, 4096))
        if number < at_least or number % 1:
            allowed = f"a whole number, at least {at_least}"
            raise argument_error(self.prefix + name, self.get(name, default), allowed)
        return number

    def on(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self._known_value(name, default, (True, False))
        switch = _SWITCHES.get(str(value).lower().removesuffix(".0"))
        if switch is None:
            raise argument_error(self.prefix + name, value, "true or false")
        return switch

    def word(self, name: str, default: str, allowed: Collection[str]) -> str:
        """A word, one of those allowed."""
        value = self._known_value(name, default, allowed)
        word = str(value) if str(value) in allowed else str(value).lower()
        if word not in allowed:
            name, near = self.prefix + name, meant(word, allowed)
            if near and len(word) <= _SHORT and len(near) == len(word) and sorted(near) != sorted(word):
                near = None
            hint = f"; is {near} meant?" if near else ""
            raise UndecidedSettingError(name, allowed, f"{flag(name)}={value} is not known here{hint}")
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
        return [f"{flag(name)} ({why})" for name in full_names if self.given.get(name) is not None]

    def assignments(self, *names: str) -> list[str]:
        """Those of the names that are set to something, as they are written."""
        off = (None, False, "null")
        return [f"{self.prefix}{name}={self.get(name)}" for name in names if self.get(name) not in off]

    def unread(
        self, plain: Mapping[str, Collection[Any]], harmless: Collection[str], deciding: Collection[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """What no reader read: names that change no policy; with values, those that may; those that do.

        Parameters: `plain`, the values at which a setting changes nothing; `harmless`, names that change
        none whatever their value; `deciding`, names that do if they are not in `plain`; both with the
        wildcards of `fnmatch`. A name that is all but one that is read decides as well.
        """
        without_effect, possible, certain = list[str](), list[str](), list[str]()
        for name, value in self.given.items():
            if name in self.names_read or isinstance(value, UnassignedValue):
                continue
            never = any(fnmatchcase(name, pattern) for pattern in harmless)
            if value is None or (value in plain[name] if name in plain else never):
                without_effect.append(name)
                continue
            near = None if name in plain else meant(name, {*self.names_read, *plain, *harmless})
            decides = any(fnmatchcase(name.lower(), pattern) for pattern in deciding)
            decides = decides or (near in self.names_read and near not in self.given)
            hint = f" (is {flag(near)} meant?)" if near else ""
            (certain if decides else possible).append(f"{flag(name)}={value}{hint}")
        return without_effect, possible, certain


def flag(name: str) -> str:
    """A setting as it is written: words joined by dashes are a command line's."""
    return f"--{name}" if "-" in name and "." not in name else name


COMMIT = (10**9,)
"""A version that is no dotted number: after all others."""


def version_parts(version: str) -> tuple[int, ...]:
    """A dotted version's parts; of what is none (a commit), after all others."""
    parts = version.split(".")[:3]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else COMMIT


def default_at(version: str, defaults: Mapping[str, Any]) -> Any:
    """The default that holds at a version, of those by the version from which they do."""
    newest_first, at = by_version(defaults), version_parts(version)
    return next((value for since, value in newest_first if version_parts(since) <= at), newest_first[-1][1])


def by_version(defaults: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """The defaults by the version from which they hold, the newest first."""
    return sorted(defaults.items(), key=lambda default: version_parts(default[0]), reverse=True)
