from dataclasses import replace

import pytest
from scipy.special import expit, logit
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_results

from figures.gallery.keep_and_explore import FIGURE


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("keep_and_explore", tmp_path_factory.mktemp("numbers"))


def test_shares_are_means_over_seeds_with_intervals(results):
    found = results.methods["GRPO"]["train"]
    kept, new = found["retention"], found["exploration"]
    assert (kept.mean, kept.low, kept.high) == pytest.approx((0.9, 0.9, 0.9))
    assert new.mean == pytest.approx(0.1)
    reach = 12.7062047 * 0.1 / 0.09
    assert new.high == pytest.approx(expit(logit(0.1) + reach), abs=1e-7)
    assert results.counts["train"] == {"retention": 30, "exploration": 10}


def test_where_the_base_solves_everything_nothing_is_newly_solved(results):
    methods = {
        label: of | {"train": of["train"] | {"exploration": None}} for label, of in results.methods.items()
    }
    changed = replace(results, methods=methods)
    assert FIGURE.table(changed).rows[0][1:3] == (pytest.approx(0.9), None)
    assert_figure_draws("keep_and_explore", changed)


def test_the_committed_numbers():
    rows = FIGURE.table(stored("keep_and_explore")).rows
    assert all(0 <= share <= 1 for row in rows for share in row[1:])
