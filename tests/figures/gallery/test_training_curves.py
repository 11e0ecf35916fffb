from dataclasses import replace

import pytest
from scipy.special import expit, logit
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_results

from figures.gallery.training_curves import FIGURE
from toy_lm.strategies.results import Lead


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("training_curves", tmp_path_factory.mktemp("numbers"))


def test_every_training_starts_at_the_base(results):
    # Pass@16 of the task's base by hand, with 15 of 50 prompts at .97 and the others at .4 base_j.
    rates = [0.97, *(0.4 * share for share in (0.30, 0.25, 0.20, 0.15, 0.10))]
    weights = [15, 10, 7, 7, 6, 5]
    first = sum(w / 50 * (1 - (1 - p) ** 16) for w, p in zip(weights, rates, strict=True))
    for found in results.strategies.curves.values():
        assert found.pass_at_k.mean[0] == pytest.approx(first, abs=1e-7)
        assert found.excess_kl.mean[0] == pytest.approx(0, abs=1e-12)


def test_the_collapse_shows_in_the_excess_kl(results):
    ends = {row[1]: row[4] for row in FIGURE.table(results).rows if row[0].startswith("strategies")}
    assert ends["GRPO"] > 2 * ends["DPH-F"] > 0


def test_bands_are_intervals_over_seeds(results):
    found = results.styles.curves["GRPO"].pass_at_k
    assert found.mean == pytest.approx([0.7, 0.75, 0.85])
    assert found.low[0] == found.high[0] == 0.7
    assert found.high[2] == pytest.approx(expit(logit(0.85) + 12.7062047 * 0.05 / 0.1275), abs=1e-7)


def test_it_draws_with_warnings_and_without(results):
    assert_figure_draws("training_curves", results)
    warned = (Lead(rise=0.02, meter_step=10, coverage_step=17), Lead(rise=0.2, coverage_step=17))
    assert_figure_draws("training_curves", replace(results, leads=warned))
    assert_figure_draws("training_curves", replace(results, leads=(Lead(rise=0.02, coverage_step=17),)))


def test_the_committed_numbers():
    assert stored("training_curves").leads[0].lead > 0
