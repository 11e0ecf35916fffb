"""The one form of error for an argument that is not allowed."""

from collections.abc import Collection, Hashable, Iterable
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


def meant(name: str, known: Collection[str]) -> str | None:
    """The known name that this one is all but: one slip away, or two in a name of eight letters and more.

    Of names with dots the part after the last one counts letters: none may be wrong in one of two. A known
    name without what stands before one of its dots is meant as well, if only one such is known.
    """
    ends = {each for each in known if each.endswith(f".{name}")}
    if len(ends) == 1:
        return ends.pop()
    letters = len(name.rpartition(".")[2])
    allowed = 2 if letters >= 8 else int(letters >= 3)
    near = {each: slips(name, each) for each in known if abs(len(each) - len(name)) <= allowed}
    found = min(near, key=near.__getitem__, default=None)
    return found if found is not None and 0 < near[found] <= allowed else None


def slips(one: str, other: str) -> int:
    """Letters to add, leave out, change or swap with their neighbour to make one word the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, beside in enumerate(other, 1):
            change = last[j - 1] + (letter != beside)
            row.append(min(last[j] + 1, row[-1] + 1, change))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == beside:
                row[-1] = min(row[-1], before[j - 2] + 1)
        before, last = last, row
    return last[-1]
