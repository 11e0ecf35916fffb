import numpy as np
import pytest
from support.drawing_checks import stored

from figures.gallery.filtering import FIGURE
from figures.records import Records
from toy_lm.filtering import distances


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def test_local_filtering_costs_what_the_two_models_are_apart(results):
    for found in results.grammars.values():
        assert found.local == pytest.approx(found.filtering + found.local_to_filtered, rel=1e-9)
        assert (np.diff(found.filtering) > 0).all()


def test_the_table_has_the_numbers_of_the_command(results):
    (row,) = (row for row in FIGURE.table(results).rows if row[0] == "arithmetic")
    at = distances("arithmetic", 12, bases=2)
    expected = (at.filtering, at.local, at.local_to_filtered, at.filtered_to_local)
    assert row == ("arithmetic", 12, *map(pytest.approx, expected))


def test_the_committed_numbers():
    assert [row[1] for row in FIGURE.table(stored("filtering")).rows] == [32, 24, 24]
