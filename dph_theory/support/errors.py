"""The one form of error for an argument that is not allowed."""

from collections.abc import Collection, Hashable, Iterable
from difflib import get_close_matches
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


def closest_name(name: str, names: Collection[str]) -> str | None:
    """The known name that this one is all but: a slip away, or two in a name of eight letters and more.

    Of names with dots the part after the last one counts letters: none may be wrong in one of two. A known
    name without what stands before one of its dots is meant as well, if only one such is known.
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
