import pytest
from scipy.special import expit, logit
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_numbers

from figures.plates.keep_and_explore import FIGURE, SPLITS


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return quick_numbers("keep_and_explore", tmp_path_factory.mktemp("numbers"))


def test_shares_are_means_over_seeds_with_intervals(quick):
    found = quick["results"]["methods"]["GRPO"]["train"]
    assert found["retention"] == {"mean": 0.9, "low": 0.9, "high": 0.9}
    assert found["exploration"]["mean"] == pytest.approx(0.1)
    assert found["exploration"]["high"] == pytest.approx(expit(logit(0.1) + 12.7062047 * 0.1 / 0.09))
    assert quick["results"]["prompts"]["train"] == {"retention": [30, 30], "exploration": [10, 10]}


def test_the_findings_name_who_keeps_and_who_explores(quick):
    methods = quick["results"]["methods"]
    methods["RKL 0.3"]["train"]["retention"]["mean"] = 0.1
    methods["DAPO"]["train"]["exploration"]["mean"] = 0.7
    said = FIGURE.findings(quick["results"])[0]
    assert "least by RKL 0.3 (0.100)" in said
    assert "newly solved most by DAPO (0.700)" in said


def test_where_the_base_solves_everything_nothing_is_newly_solved(quick):
    for found in quick["results"]["methods"].values():
        found["train"]["exploration"] = None
    assert "newly solved" not in FIGURE.findings(quick["results"])[0]
    assert_figure_draws("keep_and_explore", quick)


def test_the_committed_numbers():
    assert_figure_draws("keep_and_explore")
    for found in stored("keep_and_explore")["results"]["methods"].values():
        shares = [share["mean"] for split in SPLITS for share in found[split].values() if share is not None]
        assert all(0 <= share <= 1 for share in shares)
