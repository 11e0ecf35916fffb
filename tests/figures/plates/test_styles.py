import pytest
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_numbers

from figures.plates.styles import FIGURE


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return quick_numbers("styles", tmp_path_factory.mktemp("numbers"))


def test_seeds_that_favour_different_styles_are_averaged_by_rank(quick):
    found = quick["results"]["methods"]["GRPO"]["histogram"]
    assert found["mean"] == found["low"] == found["high"] == [20.0, 9.0, 1.0, 1.0, 1.0]
    assert quick["results"]["methods"]["base"]["histogram"]["mean"] == [10.0, 8.0, 6.0, 5.0, 3.0]


def test_the_findings_name_the_ends(quick):
    assert "5.00 distinct styles with the base" in FIGURE.findings(quick["results"])[0]
    quick["results"]["methods"]["RKL 0.3"]["distinct"]["mean"] = 4.5
    assert "to 4.50 (RKL 0.3)" in FIGURE.findings(quick["results"])[0]


def test_it_draws(quick):
    assert_figure_draws("styles", quick)


def test_the_committed_numbers():
    assert_figure_draws("styles")
    for found in stored("styles")["results"]["methods"].values():
        histogram = found["histogram"]["mean"]
        assert sum(histogram) == pytest.approx(32, abs=1e-9)
        assert histogram == sorted(histogram, reverse=True)
        assert 1 <= found["distinct"]["mean"] <= 5
