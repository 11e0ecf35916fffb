import json
import platform
from dataclasses import dataclass

import numpy as np
import pytest

from dph_theory import excess_kl
from dph_theory.intervals import Estimate, mean_interval
from dph_theory.support.files import write_json
from dph_theory.support.record import as_json, checked, from_json, read_record, record


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


def test_a_record_says_what_it_was_computed_from():
    made = record("curve", seed=3, config={"n": 2}, results={"x": 1.0}, findings=["x is one"])
    assert made["kind"] == "curve"
    assert made["seed"] == 3
    assert made["config"] == {"n": 2}
    assert made["results"] == {"x": 1.0}
    assert made["findings"] == ["x is one"]
    assert made["versions"]["python"] == platform.python_version()
    assert made["versions"]["dph"].count(".") == 2
    assert checked(made, "curve") is made


def test_a_package_that_is_absent_is_named_so():
    made = record("curve", seed=0, config={}, results={}, findings=[], packages=("no-such-package",))
    assert made["versions"]["no-such-package"] == "not installed"


@pytest.mark.parametrize("value", [{"kind": "curve"}, [1], None])
def test_what_is_no_record_is_refused(value):
    with pytest.raises(ValueError, match="findings"):
        checked(value, "curve")


def test_another_kind_is_refused():
    made = record("curve", seed=0, config={}, results={}, findings=[])
    with pytest.raises(ValueError, match="only 'table'"):
        checked(made, "table")


def test_a_record_is_read_from_its_file_or_what_is_wrong_is_said(tmp_path):
    path = tmp_path / "curve.json"
    with pytest.raises(ValueError, match=r"curve\.json.*dph draw writes it"):
        read_record(path, "curve", "dph draw")
    path.write_text("{")
    with pytest.raises(ValueError, match=r"curve\.json.*a record in JSON"):
        read_record(path, "curve", "dph draw")
    made = record("curve", seed=0, config={}, results={}, findings=[])
    path.write_text(json.dumps(made))
    assert read_record(path, "curve", "dph draw") == made


def test_results_are_shown_with_plain_numbers():
    shown = repr(excess_kl([0.3, 0.25, 0.25, 0.2], [0.15, 0.1, 0.45, 0.3], [1, 1, 0, 0]))
    assert shown == "ExcessKL(total=0.208977, validity=0.20378, valid=0.00336529, invalid=0.00183184)"
    assert repr(Estimate(2.0, 1.0, 1 / 3)) == "Estimate(value=2.0, low=1.0, high=0.333333)"
    seeds = mean_interval(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]]))
    assert repr(seeds).startswith("Interval(mean=[2., 2.], low=[")
