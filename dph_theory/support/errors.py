"""The single form of error for an argument that is not allowed."""

from collections.abc import Collection, Hashable, Iterable
from difflib import get_close_matches
from typing import Any

_LONGEST = 400  # Characters of a value in a message.


class RefusedError(RuntimeError):
    """A refusal in words that a user can act on; commands print it without a traceback."""


def argument_error(name: str, value: Any, allowed: str) -> ValueError:
    """Build the error to raise: it names the argument, its value (shortened) and the allowed values."""
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST // 2]}...{shown[-_LONGEST // 2 :]}"
    return ValueError(f"{name}={shown} is not allowed: {allowed}")


def choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise that error unless the value is one of the allowed names."""
    names = tuple(allowed)
    if not isinstance(value, Hashable) or value not in names:
        raise argument_error(name, value, f"one of {', '.join(names)}")


def closest_name(name: str, names: Collection[str]) -> str | None:
    """Known name that differs by one slip, or two in a name of at least eight letters; else None.

    In names with dots the letters of the last part count, and a part of two letters must be exact. A
    known name without the part before one of its dots also matches, if only one such name is known.
    """
    ends = {candidate for candidate in names if candidate.endswith(f".{name}")}
    if len(ends) == 1:
        return ends.pop()
    letters = len(name.rpartition(".")[2])
    if letters < 3:
        return None
    least = 1 - (2 if letters >= 8 else 1) / len(name) - 1e-9
    near = get_close_matches(name, [candidate for candidate in names if candidate != name], 5, least)
    # The same letters in another order come first: GPRO is GRPO, not GSPO.
    return min(near, key=lambda candidate: sorted(candidate) != sorted(name), default=None)
