import pytest
from support.drawing_checks import stored

from dph_theory.atlas.problems import FILTERED, LOCAL, ONE, UNIFORM
from dph_theory.atlas.rows import row_of
from dph_theory.methods.repairs import METHODS
from dph_theory.support.record import as_json
from figures.gallery.atlas import COLORS, table
from figures.records import Records

BY_NAME = {method.name: method for method in METHODS}


def test_every_method_has_a_row_with_its_cells():
    rows = stored("atlas").rows
    assert [row.method for row in rows] == [method.name for method in METHODS]
    assert len(rows) >= 20
    for row in rows:
        assert row.selects in COLORS
        assert row.way_back
        assert row.source == BY_NAME[row.method].source


@pytest.mark.parametrize("name", ["negatives only", "k2 or corrected k3", "alpha-DPG"])
def test_stored_rows_are_those_of_today(name):
    of_today = as_json(row_of(BY_NAME[name]), 4)
    kept = as_json(next(row for row in stored("atlas").rows if row.method == name), 4)
    for field, value in of_today.items():
        if isinstance(value, float):
            assert kept[field] == pytest.approx(value, rel=0.05, abs=1e-3), field
        else:
            assert kept[field] == value, field


def test_what_theory_says_is_what_was_computed():
    selects = {row.method: row.selects for row in stored("atlas").rows}
    assert selects["GRPO"] == selects["negatives only"] == selects["MaxRL"] == ONE
    assert selects["KL in the reward"] == selects["FRPO"] == selects["DPH-F"] == FILTERED
    assert selects["k2 or corrected k3"] == LOCAL
    assert selects["entropy bonus, answer"] == selects["uniqueness, in the reward"] == UNIFORM


def test_gaps_are_between_runs_and_what_was_foreseen():
    atlas = Records.load(["atlas"]).atlas
    assert len(atlas.trained) >= 20
    for each in atlas.trained:
        assert len(each.runs) == len(each.gaps) == 3
        for run, gap in zip(each.runs, each.gaps, strict=True):
            pairs = zip(run.shares, each.predicted.shares, strict=True)
            assert gap == pytest.approx(sum(abs(x - y) for x, y in pairs) / 2, abs=2e-4)
    assert len(table(stored("atlas")).rows) == len(METHODS)
