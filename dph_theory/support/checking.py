"""Typed values from what a user wrote in YAML, by pydantic; errors have the package's form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from .errors import argument_error, closest_name

CHECKED = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
"""Configuration of every part of a file: no unknown key, no value of another type, finite numbers."""
_FREE = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
_WORDS = {
    "dataclass_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "tuple_type": "a list",
}
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
Kind = TypeVar("Kind")


def build(kind: type[Kind], values: Any, where: str) -> Kind:
    """Build a `CHECKED` dataclass from a mapping, or raise ValueError for the first bad key or value.

    The error states the allowed values and, for an unknown key, the nearest known key; `where` precedes
    each key, as in `task.options.`.
    """
    return cast(Kind, _validated(kind, values, where))


def typed_arguments(hints: Mapping[str, Any], values: Any, where: str, *, owner: str = "") -> dict[str, Any]:
    """Convert values to keyword arguments of the annotated types, or raise an error as `build` does.

    With `owner`, the name of what takes the arguments, an unknown key's error names the owner instead of all
    known keys.
    """
    named: Any = TypedDict
    kind = named("Arguments", dict(hints), total=False)
    kind.__pydantic_config__ = _FREE
    return cast(dict[str, Any], _validated(kind, values, where, owner))


def _validated(kind: Any, values: Any, where: str, owner: str = "") -> Any:
    try:
        # As JSON, which is strict about numbers but accepts lists for tuples and mappings for dataclasses.
        return TypeAdapter(kind).validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        raise _in_our_form(kind, values, where, owner, error) from error


def _in_our_form(kind: Any, values: Any, where: str, owner: str, error: ValidationError) -> ValueError:
    problems = error.errors(include_url=False)
    first = problems[0]
    keys = _keys(values, first["loc"])
    name = where + ".".join(keys)
    if first["type"] in _UNKNOWN:
        *parents, key = keys
        names = _field_names(kind, parents)
        near = closest_name(key, names)
        hint = f"; did you mean {near!r}?" if near else ""
        allowed = f"a field of {owner}" if owner else f"one of {sorted(names)}"
        return argument_error(f"{name.removesuffix(key)}key", key, f"{allowed}{hint}")
    if first["type"].startswith("missing"):
        return ValueError(f"{where}{'.'.join(map(str, first['loc']))} is missing")
    if first["type"] == "value_error":
        # Raised by a class that checks several keys at once; the error already names key and value.
        return ValueError(f"{name}{'.' if keys else ''}{first['ctx']['error']}")
    # A value of a union type has one problem per type.
    alternatives = [problem for problem in problems if _keys(values, problem["loc"]) == keys]
    expected = [_WORDS.get(x["type"], x["msg"].removeprefix("Input should be ")) for x in alternatives]
    return argument_error(name.rstrip(".") or "values", first["input"], " or ".join(dict.fromkeys(expected)))


def _keys(values: Any, place: Sequence[int | str]) -> list[str]:
    """Mapping keys on the way to a validation error's place, without list indices and type names."""
    keys = []
    for key in place:
        if not isinstance(values, Mapping) or key not in values:
            break
        keys.append(str(key))
        values = values[key]
    return keys


def _field_names(kind: Any, parents: Sequence[str]) -> list[str]:
    for name in parents:
        kind = get_type_hints(kind)[name]
    return [*get_type_hints(kind)]
