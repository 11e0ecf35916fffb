import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_results

from figures.gallery.styles import FIGURE


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("styles", tmp_path_factory.mktemp("numbers"))


def test_seeds_that_favour_different_styles_are_averaged_by_rank(results):
    found = results.methods["GRPO"].histogram
    for row in (found.mean, found.low, found.high):
        assert list(row) == [20.0, 9.0, 1.0, 1.0, 1.0]
    assert list(results.methods["base"].histogram.mean) == [10.0, 8.0, 6.0, 5.0, 3.0]


def test_the_table_has_every_methods_distinct_styles(results):
    rows = dict(FIGURE.table(results).rows)
    assert rows["base"] == 5.0
    assert rows.keys() == results.methods.keys()


def test_it_draws(results):
    assert_figure_draws("styles", results)


def test_the_committed_numbers():
    for found in stored("styles").methods.values():
        histogram = found.histogram.mean
        assert histogram.sum() == pytest.approx(32, abs=1e-6)
        assert (np.diff(histogram) <= 0).all()
        assert 1 <= found.distinct.mean <= 5
