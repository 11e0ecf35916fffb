from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_results

from figures.gallery.pass_at_k import FIGURE
from figures.records import Records
from figures.style.seeds import Means


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return quick_results("pass_at_k", tmp_path_factory.mktemp("numbers"))


def base_curve(k):
    """The strategies task by hand: 15 of 50 prompts pass at .97, the others at .4 with the right strategy."""
    prompts = np.array([15, 10, 7, 7, 6, 5]) / 50
    rates = np.array([0.97, *0.4 * np.array([0.30, 0.25, 0.20, 0.15, 0.10])])
    return float(prompts @ (1 - (1 - rates) ** k))


def test_the_base_is_the_tasks_own_pass_at_k(results):
    for found in results.strategies:
        assert found.k == (1, 16)
        assert found.curves["base"] == pytest.approx((base_curve(1), base_curve(16)), abs=1e-7)


def test_training_trades_pass_at_16_for_pass_at_1(results):
    curves = results.strategies[0].curves
    assert curves["GRPO"][0] > curves["base"][0]
    assert curves["GRPO"][1] < curves["DPH-F"][1]


def test_the_weaker_anchor_is_where_the_direction_matters(results):
    strong, weak = results.strategies
    gap = lambda found: found.curves["DPH-F"][1] - found.curves["reverse KL on D_pef"][1]  # noqa: E731
    assert abs(gap(weak)) >= abs(gap(strong))
    assert weak.curves["GRPO"] == strong.curves["GRPO"]


def test_rkl_is_the_reverse_kl_on_all_prompts_at_the_comparisons_strength(results):
    strong, weak = results.strategies
    assert "RKL" not in weak.curves
    assert strong.curves["RKL"] != strong.curves["reverse KL on D_pef"]
    _, found = Records.load(["strategies"]).strategies
    kept = stored("pass_at_k").strategies[0].curves["RKL"]
    assert kept == pytest.approx(found.method("reverse KL on all prompts").pass_at_draws, abs=1e-7)


def test_changes_are_paired_with_the_base_of_the_seed(results):
    grpo = results.styles.changes["train"]["GRPO"]
    assert grpo.mean == pytest.approx([0.15, -0.1, 0.0])
    # The base has .4 for both seeds, the runs .5 and .6: t with one degree of freedom.
    assert grpo.high[0] == pytest.approx(0.15 + 12.7062047 * 0.05, abs=1e-7)


def test_the_table_says_from_which_k_on_the_base_is_better(results):
    model = "tiny transformer, training prompts"
    assert (model, "GRPO", 16) in FIGURE.table(results).rows
    changes = results.styles.changes
    better = changes | {"train": changes["train"] | {"GRPO": Means(np.array([0.5, 0.0, 0.0]))}}
    changed = replace(results, styles=replace(results.styles, changes=better))
    assert (model, "GRPO", None) in FIGURE.table(changed).rows


def test_it_draws(results):
    assert_figure_draws("pass_at_k", results)


def test_the_committed_numbers():
    curves = stored("pass_at_k").strategies[1]
    assert curves.curves["base"] == pytest.approx([base_curve(k) for k in curves.k], abs=1e-7)
