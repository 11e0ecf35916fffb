import pytest

from figures.results.records import FULL_SCALE, Records


def test_every_record_is_read_as_its_own_classes():
    found = Records.load(["collapse", "strategies", "styles", *FULL_SCALE])
    assert "laws" in found
    assert "verdicts" not in found
    assert found.collapse.reference.length == 8
    assert found.strategies[0].coverage_draws in found.strategies[1].draws
    assert len(found.styles.bases) == 3
    assert sum(gap.expected != 0 for gap in found.demo.differences) == 10
    assert found.laws.runs


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="record='styles' is not allowed: one of demo"):
        Records.load(["demo"]).styles  # noqa: B018


def test_runs_of_full_scale_are_read_as_committed(tmp_path):
    assert Records.load(["demo"], quick=True, folder=tmp_path).of("demo")["kind"] == "full_scale.demo"
