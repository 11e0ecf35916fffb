import typing

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass

from dph_theory.support.checking import CHECKED, build, typed_arguments
from full_scale.recipe.schema import MethodConfig


@dataclass(frozen=True, config=CHECKED)
class Inner:
    size: int = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True, config=CHECKED)
class Outer:
    inner: Inner = Field(default_factory=Inner)
    free: dict[str, typing.Any] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"inner": {"sise": 1}}, r"^p\.inner\.key='sise' is not allowed: .*'names', 'size'.*mean 'size'\?$"),
        ({"inner": {"zzz": 1}}, r"^p\.inner\.key='zzz' is not allowed: one of \['names', 'size'\]$"),
        ({"inner": {"size": "x"}}, r"^p\.inner\.size='x' is not allowed: a valid integer$"),
        ({"inner": {"names": ["a", 3]}}, r"^p\.inner\.names=3 is not allowed: a valid string$"),
        ({"inner": 3}, r"^p\.inner=3 is not allowed: a mapping of keys to values$"),
        (3, "^p=3 is not allowed: a mapping of keys to values$"),
    ],
)
def test_an_error_names_the_key_the_value_and_what_is_allowed(values, says):
    with pytest.raises(ValueError, match=says):
        build(Outer, values, "p.")


def test_lists_become_tuples_and_free_values_stay():
    found = build(Outer, {"inner": {"names": ["a"]}, "free": {"x": [1, {"y": 1e-7}]}}, "")
    assert found == Outer(Inner(names=("a",)), {"x": [1, {"y": 1e-7}]})


def test_a_gauge_is_a_name_or_a_number_and_what_holds_between_keys_is_named_in_full():
    for given, meant in (("normalised", "normalised"), (0.5, 0.5), (1, 1.0), (None, None)):
        assert build(MethodConfig, {"gauge": given}, "").gauge == meant
    for wrong in ("k3", [1]):
        with pytest.raises(ValueError, match=r"gauge=.* 'printed' or 'normalised' or a valid number"):
            build(MethodConfig, {"gauge": wrong}, "")
    with pytest.raises(ValueError, match=r"^p\.mu=0\.5 is not allowed: either"):
        build(MethodConfig, {"mu": 0.5, "beta": 1.0}, "p.")


def test_arguments_of_a_function_are_checked_like_fields():
    def f(*, a: int, b: float = 1.0) -> None: ...

    hints = typing.get_type_hints(f)
    assert typed_arguments(hints, {"a": 1, "b": 2}, "f.") == {"a": 1, "b": 2.0}
    for given, says in (({"a": "x"}, r"f\.a='x'"), (3, "f=3"), ({"c": 3}, r"f\.key='c' .*: a field of F$")):
        with pytest.raises(ValueError, match=says):
            typed_arguments(hints, given, "f.", owner="F")
