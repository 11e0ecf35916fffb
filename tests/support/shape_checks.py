"""The run-time check of annotations, shapes included: every call of our packages is checked, once.

pytest's option --jaxtyping-packages decorates each function by `jaxtyping.jaxtyped`. That checks arguments
before the call and once more with the result, and opens a scope of axis names whether the function has shapes
or not: a third of the suite's time. `decorate_leaner` puts `once` in its place.
"""

import inspect
import typing
from dataclasses import is_dataclass
from functools import partial, wraps
from typing import Any

import beartype
import jaxtyping

checked = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))
"""Beartype's check, with the numeric tower: an int is a float."""
_scope = jaxtyping.jaxtyped


def decorate_leaner() -> None:
    """To be called before any of the packages is imported."""
    jaxtyping.jaxtyped = once


def once(fn: Any = None, *, typechecker: Any = None) -> Any:
    """The function with its arguments and result checked; shapes agree within a call."""
    if fn is None:
        return partial(once, typechecker=typechecker)
    if inspect.isclass(fn):
        if is_dataclass(fn) and fn.__init__.__module__ == fn.__module__:
            fn.__init__ = once(fn.__init__, typechecker=typechecker)
        return fn
    if not inspect.isfunction(fn) or inspect.isgeneratorfunction(fn):
        return _scope(fn, typechecker=checked)
    fn.__annotations__ = {name: _resolved(hint, fn) for name, hint in fn.__annotations__.items()}
    inner = checked(fn)
    return _scoped(inner) if any(map(_has_shape, fn.__annotations__.values())) else inner


def _scoped(fn: Any) -> Any:
    @wraps(fn)
    def within(*args: Any, **kwargs: Any) -> Any:
        with _scope("context"):
            return fn(*args, **kwargs)

    return within


def _resolved(hint: Any, fn: Any) -> Any:
    """What stands in quotes, where it is known already."""
    try:
        return eval(hint, fn.__globals__) if isinstance(hint, str) else hint
    except NameError:
        return Any


def _has_shape(hint: Any) -> bool:
    if inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    parts = typing.get_args(hint)
    return any(_has_shape(part) for part in parts if part is not hint)
