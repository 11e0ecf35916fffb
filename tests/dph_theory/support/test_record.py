import json
import platform

import numpy as np
import pytest

from dph_theory import excess_kl
from dph_theory.intervals import Estimate, mean_interval
from dph_theory.support.errors import RefusedError
from dph_theory.support.record import read_record, record

GIVEN = {"seed": 3, "config": {"n": 2}, "results": {"x": 1.0}, "findings": ["x is one"]}


def test_a_record_says_what_it_was_computed_from(tmp_path):
    found = record("curve", **GIVEN, packages=("no-such-package",))
    assert {key: found[key] for key in ("kind", *GIVEN)} == {"kind": "curve"} | GIVEN
    assert found["versions"]["python"] == platform.python_version()
    assert found["versions"]["dph"].count(".") == 2
    assert found["versions"]["no-such-package"] == "not installed"
    (tmp_path / "curve.json").write_text(json.dumps(found))
    assert read_record(tmp_path / "curve.json", "curve", "dph draw") == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, r"no curve\.json in .*: run dph draw"),
        ("{", r"curve\.json is no valid JSON.*; remove it, and run dph draw"),
        ("[" * 100_000, r"curve\.json is no valid JSON: it is nested too deeply"),
        (json.dumps(record("table", **GIVEN)), r"curve\.json.*only 'curve'"),
        ('{"kind": "table", "kind": "curve"}', r"curve\.json.*'kind' appears twice"),
        *((json.dumps(value), r"curve\.json.*findings") for value in ({"kind": "curve"}, [1], None)),
    ],
)
def test_what_is_no_record_of_that_kind_is_refused(tmp_path, text, says):
    if text is not None:
        (tmp_path / "curve.json").write_text(text)
    with pytest.raises((ValueError, RefusedError), match=says):
        read_record(tmp_path / "curve.json", "curve", "dph draw")


def test_results_are_shown_with_plain_numbers():
    shown = repr(excess_kl([0.3, 0.25, 0.25, 0.2], [0.15, 0.1, 0.45, 0.3], [1, 1, 0, 0]))
    assert shown == "ExcessKL(total=0.208977, pass_rate=0.20378, valid=0.00336529, invalid=0.00183184)"
    assert repr(Estimate(2.0, 1.0, 1 / 3)) == "Interval(value=2.0, low=1.0, high=0.333333, method='')"
    seeds = mean_interval(np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]]))
    assert repr(seeds).startswith("Interval(value=[2., 2.], low=[")
