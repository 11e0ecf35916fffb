import json
import platform

import pytest

from dph_theory.support.record import checked, read_record, record


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
