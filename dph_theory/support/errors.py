"""The one form of error for an argument that is not allowed."""

from typing import Any


def argument_error(name: str, value: Any, allowed: str) -> ValueError:
    """The error to raise: it names the argument, its value and what is allowed."""
    return ValueError(f"{name}={value!r} is not allowed: {allowed}")
