"""What a reader asks of a run's settings, and what nothing read."""

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from ..support.errors import argument_error, meant
from .sources import Loose, Unknown

T = TypeVar("T")


_SHORT = 5
"""Of a word so short a slip is another word as well: dppo is no dapo."""


class Open(Exception):  # noqa: N818
    """A value that is asked for and not given: its name, what it may be, and how to say so."""

    def __init__(self, name: str, may_be: Collection[Any], words: str) -> None:
        super().__init__(name)
        self.name, self.may_be, self.words = name, may_be, words


class Asked:
    """Settings by name, with a default where they are silent; it notes which names were asked for.

    Parameters: settings; trainer and version, to be named; defaults, those in place of the readers', by the
    version from which they hold; supposed, what values that are not given are taken to be.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        trainer: str = "",
        version: str = "",
        defaults: Mapping[str, Mapping[str, Any]] = {},
        supposed: Mapping[str, Any] = {},
    ) -> None:
        self.settings, self.trainer, self.version = settings, trainer, version
        self.defaults, self.supposed = defaults, supposed
        self.before, self.known = "", set[str]()

    def under(self, before: str) -> "Asked":
        """The same settings, by the rest of the names that begin so."""
        found = copy(self)
        found.before = before
        return found

    def __contains__(self, name: str) -> bool:
        return self.before + name in self.settings

    def get(self, name: str, default: Any = None) -> Any:
        """The value, and for a null the default, which the version may decide."""
        name = self.before + name
        self.known.add(name)
        value = self.supposed.get(name, self.settings.get(name))
        if value is None and name in self.defaults:
            default = of_version(self.defaults[name], self.version)
            if isinstance(default, str) and default.startswith("not "):
                default = not copy(self).under("").on(default.removeprefix("not "))
        return default if value is None else value

    def _told(self, name: str, default: Any, may_be: Collection[Any]) -> Any:
        value = self.get(name, default)
        if isinstance(value, Unknown):
            name = self.before + name
            said = f"{flag(name)} {value}" if isinstance(value, Loose) else "not told"
            raise Open(name, may_be, f"{said}: give {flag(name)}=VALUE")
        return value

    def refused(self, name: str, value: Any, allowed: str) -> ValueError:
        """The error for a setting's value."""
        return argument_error(self.before + name, value, allowed)

    def number(
        self, name: str, default: float, *, at_least: float = 0, may_be: Collection[float] = ()
    ) -> float:
        """A number, at least that."""
        value = self._told(name, default, may_be or (at_least, default, at_least + 0.5))
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = math.nan
        if not at_least <= found < math.inf:
            raise self.refused(name, value, f"a number, at least {at_least:g}")
        return found

    def count(self, name: str, default: float, *, at_least: int = 1) -> float:
        """A whole number."""
        found = self.number(name, default, may_be=(default, at_least, 8, 4096))
        if found < at_least or found % 1:
            raise self.refused(name, self.get(name, default), f"a whole number, at least {at_least}")
        return found

    def on(self, name: str, default: bool = False) -> bool:
        """A switch."""
        value = self._told(name, default, (True, False))
        known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        found = known.get(str(value).lower().removesuffix(".0"))
        if found is None:
            raise self.refused(name, value, "true or false")
        return found

    def word(self, name: str, default: str, allowed: Collection[str]) -> str:
        """A word, one of those allowed."""
        given = self._told(name, default, allowed)
        value = str(given)
        value = value if value in allowed else value.lower()
        if value not in allowed:
            name, near = self.before + name, meant(value, allowed)
            if near and len(value) <= _SHORT and len(near) == len(value) and sorted(near) != sorted(value):
                near = None
            hint = f"; is {near} meant?" if near else ""
            raise Open(name, allowed, f"{flag(name)}={given} is not known here{hint}")
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
        set_here = [name for name in names if self.settings.get(self.before + name) is not None]
        self.known.update(self.before + name for name in names)
        return [f"{flag(self.before + name)} ({why})" for name in set_here]

    def said(self, *names: str) -> list[str]:
        """Those of the names that are set to something, as they are written."""
        off = (None, False, "null")
        return [f"{self.before}{name}={self.get(name)}" for name in names if self.get(name) not in off]

    def rest(
        self, plain: Mapping[str, Collection[Any]], harmless: Collection[str], deciding: Collection[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """What no reader asked for: names that change no policy; with values, those that may; those that do.

        Parameters: `plain`, the values at which a setting changes nothing; `harmless`, names that change
        none whatever their value; `deciding`, names that do if they are not in `plain`; both with the
        wildcards of `fnmatch`. A name that is all but one that is read decides as well.
        """
        without, unread, decide = list[str](), list[str](), list[str]()
        for name, value in self.settings.items():
            here = name in plain
            no_law = value in plain[name] if here else any(fnmatchcase(name, each) for each in harmless)
            if name in self.known or isinstance(value, Loose):
                continue
            if no_law or value is None:
                without.append(name)
                continue
            near = None if here else meant(name, {*self.known, *plain, *harmless})
            decides = any(fnmatchcase(name.lower(), each) for each in deciding)
            decides = decides or (near in self.known and near not in self.settings)
            hint = f" (is {flag(near)} meant?)" if near else ""
            (decide if decides else unread).append(f"{flag(name)}={value}{hint}")
        return without, unread, decide


def flag(name: str) -> str:
    """A setting as it is written: words joined by dashes are a command line's."""
    return f"--{name}" if "-" in name and "." not in name else name


COMMIT = (10**9,)
"""A version that is no dotted number: after all others."""


def numbers(version: str) -> tuple[int, ...]:
    """A dotted version's parts; of what is none (a commit), after all others."""
    parts = version.split(".")[:3]
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else COMMIT


def of_version(defaults: Mapping[str, Any], version: str) -> Any:
    """The default that holds at a version, of those by the version from which they do."""
    since = [first for first in sorted(defaults, key=numbers) if numbers(first) <= numbers(version)]
    return defaults[since[-1] if since else min(defaults, key=numbers)]


def by_version(defaults: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """The defaults by the version from which they hold, the newest first."""
    return sorted(defaults.items(), key=lambda of: numbers(of[0]), reverse=True)
