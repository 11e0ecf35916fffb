"""The one form of error for an argument that is not allowed."""

from collections.abc import Hashable, Iterable
from typing import Any


class RefusedError(RuntimeError):
    """What cannot be done, in words that a user can act on; commands print it without a traceback."""


def argument_error(name: str, value: Any, allowed: str) -> ValueError:
    """The error to raise: it names the argument, its value and what is allowed."""
    return ValueError(f"{name}={value!r} is not allowed: {allowed}")


def choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise that error unless the value is one of the allowed names."""
    names = tuple(allowed)
    if not isinstance(value, Hashable) or value not in names:
        raise argument_error(name, value, f"one of {', '.join(names)}")
