import numpy as np
import pytest
from scipy.special import expit, logit
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_numbers

from figures.plates.pass_at_k import FIGURE
from figures.results.experiments import records
from toy_lm import strategies


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return quick_numbers("pass_at_k", tmp_path_factory.mktemp("numbers"))


def base_curve(k):
    """The strategies task by hand: 15 of 50 prompts pass at .97, the others at .4 with the right strategy."""
    prompts = np.array([15, 10, 7, 7, 6, 5]) / 50
    rates = np.array([0.97, *0.4 * np.array([0.30, 0.25, 0.20, 0.15, 0.10])])
    return float(prompts @ (1 - (1 - rates) ** k))


def test_the_base_is_the_tasks_own_pass_at_k(quick):
    for found in quick["results"]["strategies"]:
        assert found["k"] == [1, 16]
        assert found["curves"]["base"] == pytest.approx([base_curve(1), base_curve(16)], abs=1e-12)


def test_training_trades_pass_at_16_for_pass_at_1(quick):
    curves = quick["results"]["strategies"][0]["curves"]
    assert curves["GRPO"][0] > curves["base"][0]
    assert curves["GRPO"][1] < curves["DPH-F"][1]


def test_the_weaker_anchor_is_where_the_direction_matters(quick):
    strong, weak = quick["results"]["strategies"]
    gap = lambda found: found["curves"]["DPH-F"][1] - found["curves"]["reverse KL on D_pef"][1]  # noqa: E731
    assert abs(gap(weak)) >= abs(gap(strong))
    assert weak["curves"]["GRPO"] == strong["curves"]["GRPO"]


def test_rkl_is_the_reverse_kl_on_all_prompts_at_the_comparisons_strength(quick):
    strong, weak = quick["results"]["strategies"]
    assert "RKL" not in weak["curves"]
    assert strong["curves"]["RKL"] != strong["curves"]["reverse KL on D_pef"]
    _, found = strategies.read(records(["strategies"])["strategies"])
    kept = stored("pass_at_k")["results"]["strategies"][0]["curves"]["RKL"]
    assert kept == found.method("reverse KL on all prompts").pass_at_draws


def test_seeds_have_intervals(quick):
    found = quick["results"]["styles"]
    grpo = found["curves"]["train"]["GRPO"]
    assert found["seeds"] == 2
    assert grpo["mean"] == pytest.approx([0.55, 0.8, 1.0])
    assert grpo["high"][0] == pytest.approx(expit(logit(0.55) + 12.7062047 * 0.05 / 0.2475))


def test_the_findings_say_from_which_k_on_the_base_is_better(quick):
    results = quick["results"]
    _, train, held_out = FIGURE.findings(results)
    assert "GRPO from k = 16" in train
    assert "GRPO from k = 16" in held_out
    results["styles"]["curves"]["train"]["GRPO"]["mean"] = [0.9, 0.95, 1.0]
    assert "GRPO at no k" in FIGURE.findings(results)[1]


def test_it_draws(quick):
    assert_figure_draws("pass_at_k", quick)


def test_the_committed_numbers():
    assert_figure_draws("pass_at_k")
    curves = stored("pass_at_k")["results"]["strategies"][1]
    assert curves["curves"]["base"] == pytest.approx([base_curve(k) for k in curves["k"]], abs=1e-12)
