import pytest
from scipy.special import expit, logit
from support.drawing_checks import assert_figure_draws, stored
from support.small_experiment_records import quick_numbers

from figures.plates.training_curves import FIGURE


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return quick_numbers("training_curves", tmp_path_factory.mktemp("numbers"))


def test_every_training_starts_at_the_base(quick):
    for found in quick["results"]["strategies"]["curves"].values():
        # Pass@16 of the task's base by hand, with 15 of 50 prompts at .97 and the others at .4 base_j.
        rates = [0.97, *(0.4 * share for share in (0.30, 0.25, 0.20, 0.15, 0.10))]
        weights = [15, 10, 7, 7, 6, 5]
        first = sum(w / 50 * (1 - (1 - p) ** 16) for w, p in zip(weights, rates, strict=True))
        assert found["pass_at_k"][0] == pytest.approx(first, abs=1e-12)
        assert found["excess_kl"][0] == pytest.approx(0, abs=1e-12)


def test_the_collapse_shows_in_the_excess_kl(quick):
    curves = quick["results"]["strategies"]["curves"]
    assert curves["GRPO"]["excess_kl"][-1] > 2 * curves["DPH-F"]["excess_kl"][-1] > 0


def test_bands_are_intervals_over_seeds(quick):
    found = quick["results"]["styles"]["curves"]["GRPO"]["pass_at_k"]
    assert found["mean"] == pytest.approx([0.7, 0.75, 0.85])
    assert found["low"][0] == found["high"][0] == 0.7
    assert found["high"][2] == pytest.approx(expit(logit(0.85) + 12.7062047 * 0.05 / 0.1275))


def test_the_findings_say_how_early_the_meter_warned(quick):
    results = quick["results"]
    results["strategies"]["leads"] = [
        {"rise": 0.02, "meter_step": 10, "coverage_step": 17, "lead": 7},
        {"rise": 0.2, "meter_step": 20, "coverage_step": 17, "lead": -3},
    ]
    assert "at a threshold of 0.02 nats by 7 steps" in FIGURE.findings(results)[1]
    results["strategies"]["leads"] = [{"rise": 0.02, "meter_step": None, "coverage_step": 17, "lead": None}]
    assert len(FIGURE.findings(results)) == 1
    assert_figure_draws("training_curves", quick)


def test_the_committed_numbers():
    assert_figure_draws("training_curves")
    leads = stored("training_curves")["results"]["strategies"]["leads"]
    assert leads[0]["lead"] == leads[0]["coverage_step"] - leads[0]["meter_step"]
