"""Frozen result classes as JSON, and back."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from .errors import argument_error

T = TypeVar("T")
_PLAIN = {str, int, float, bool, type(None)}


def as_json(value: Any, digits: int | None = None) -> Any:
    """Dataclasses as dictionaries, without fields that are None by default; sequences and arrays as lists.

    With `digits`, floats are rounded to so many significant digits.
    """
    if is_dataclass(value):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
        unset = {field.name for field in fields(value) if named[field.name] is None is field.default}
        return {name: as_json(entry, digits) for name, entry in named.items() if name not in unset}
    if isinstance(value, dict):
        return {key: as_json(entry, digits) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        # Long lists of numbers are common, and need no call for each.
        if digits is None and _PLAIN.issuperset(map(type, value)):
            return list(value)
        return [as_json(entry, digits) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist(), digits)
    if isinstance(value, float) and digits is not None:
        return float(f"{value:.{digits}g}")
    return value


def from_json(kind: type[T], value: Any) -> T:
    """The dataclass of that kind from what `as_json` made of it, also after a file.

    Raises ValueError naming the field that is missing or is something else.
    """
    from pydantic import ValidationError  # Not needed by what reads no results.

    hashable: Any = kind
    try:
        return _adapter(hashable).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, (kind.__name__, *first["loc"])))
        raise argument_error(where, first["input"], first["msg"]) from error


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
