import json
from dataclasses import dataclass

import pytest

from dph_theory.support.files import write_json
from dph_theory.support.frozen import as_json, from_json


@dataclass(frozen=True)
class Point:
    x: float
    label: str | None = None


@dataclass(frozen=True)
class Curve:
    name: str
    points: tuple[Point, ...]
    by_strength: dict[float, tuple[int, ...]]


CURVE = Curve("c", (Point(0.123456789), Point(float("inf"), "end")), {0.5: (1, 2)})


def test_a_value_comes_back_from_a_file(tmp_path):
    write_json(tmp_path / "a.json", as_json(CURVE))
    assert from_json(Curve, json.loads((tmp_path / "a.json").read_text())) == CURVE


def test_what_is_none_is_left_out_and_floats_are_rounded_to_significant_digits():
    assert as_json(CURVE, digits=3)["points"] == [{"x": 0.123}, {"x": float("inf"), "label": "end"}]


def test_what_is_missing_or_wrong_is_named():
    with pytest.raises(ValueError, match=r"Curve\.points\.0\.x={'label': 'a'}.*[Rr]equired"):
        from_json(Curve, {"name": "c", "points": [{"label": "a"}], "by_strength": {}})
