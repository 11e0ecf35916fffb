"""Predictions for rehearsed prompts, on runs simulated from exact laws."""

import math

import numpy as np
import pytest
from support.simulated_runs import Simulated, rehearsing, row, verdicts

from dph_theory import JENSEN_SHANNON
from full_scale.comparison.measurements import Measured, read_runs
from full_scale.comparison.predictions import predictions
from full_scale.comparison.rehearsal_predictions import guarantee, rehearsal_target
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig


def rehearsed(mass, name="DPH-F", prompts=200, **method):
    """Runs whose policy is m p_* on the valid outcomes, under a method of that name."""
    return lambda rng: Simulated(
        rehearsing(rng, prompts, mass, outcomes=4, concentration=4.0),
        where=("rehearsed",),
        method={"name": name, **method},
    )


@pytest.mark.parametrize("mass", [0.3, 0.97])
def test_the_guarantee_is_an_equality_at_m_times_the_filtered_model(tmp_path, mass):
    assert verdicts(rehearsed(mass), tmp_path, "guarantee", "rehearsed") == {"consistent"}
    found = row(rehearsed(mass), tmp_path, "guarantee", "rehearsed")
    assert found.estimate == pytest.approx(mass, abs=0.02)
    assert found.prediction == pytest.approx(mass, abs=0.05)


def test_a_guarantee_that_is_broken(tmp_path):
    """Buffer rows that look likelier under the policy than its samples are."""

    def change(results):
        for entry in results["rehearsed"]["rows"]:
            entry["log_pi"] += 0.5

    found = verdicts(rehearsed(0.5), tmp_path, "guarantee", "rehearsed", change=change)
    assert found == {"inconsistent"}


def test_without_the_base_rate_the_guarantee_would_be_broken(tmp_path):
    """The neighbour: E[log a/pi] alone is KL(p_* || pi) + log A1, too small."""
    found = row(rehearsed(0.5), tmp_path, "guarantee", "rehearsed")
    kl = -math.log(found.prediction)
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([rehearsed(0.5)(rng).write(rng, tmp_path)])
    plain = np.mean([entry["log_ref"] - entry["log_pi"] for entry in run.rehearsed_rows])
    assert kl == pytest.approx(math.log(2), abs=0.06)
    assert found.estimate < math.exp(-plain) - found.margin


def test_few_prompts_decide_nothing(tmp_path):
    few = rehearsed(0.5, prompts=4)
    assert "inconsistent" not in verdicts(few, tmp_path, "guarantee", "rehearsed")
    assert verdicts(few, tmp_path, "rehearsed mass", "rehearsed") <= {"not enough samples", "consistent"}


@pytest.mark.parametrize(
    ("mass", "method", "verdict"),
    [
        (0.97, {"name": "DPH-F"}, "consistent"),
        (0.2, {"name": "DPH-F"}, "inconsistent"),
        (None, {"name": "DPH-F", "gauge": "normalised"}, "consistent"),
        (0.97, {"name": "DPH-F", "gauge": "normalised"}, "inconsistent"),
        (None, {"name": "DPH-JS"}, "consistent"),
        (0.97, {"name": "DPH-JS"}, "inconsistent"),
        (0.97, {"name": "DPH-alpha"}, "inconsistent"),
    ],
)
def test_the_gauge_decides_the_rehearsed_mass(tmp_path, mass, method, verdict):
    assert verdicts(rehearsed(mass, **method), tmp_path, "rehearsed mass", "rehearsed") == {verdict}


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ({"name": "DPH-F"}, "one"),
        ({"name": "DPH-F", "gauge": 1.0}, "base"),
        ({"name": "DPH-F", "gauge": 0.5}, None),
        ({"name": "DPH-F", "eta": 0.0}, None),
        ({"name": "DPH-F", "form": "definition"}, None),
        ({"name": "DPH-JS"}, "base"),
        ({"name": "DPH-JS", "gauge": 0.1}, None),
        ({"name": "DPH-alpha", "alpha": 0.7}, "base"),
        ({"name": "GRPO"}, None),
    ],
)
def test_what_a_rehearsal_aims_at(method, target):
    assert rehearsal_target(setup(MethodConfig(**method)).arguments) == target


def with_token_sums(error=0.0):
    def change(results):
        rng = np.random.default_rng(3)
        for entry in results["rehearsed"]["rows"]:
            x = rng.normal(size=5) / 3
            x += (entry["log_pi"] - entry["log_ref"] - x.sum()) / 5
            entry["token_sums"] = {
                "forward_kl": float(-x.sum()) + error,
                "jensen_shannon": float(JENSEN_SHANNON.on_log_ratio(x).value.sum()),
            }

    return change


@pytest.mark.parametrize(("error", "verdict"), [(0.0, "consistent"), (0.01, "inconsistent")])
def test_the_token_sum(tmp_path, error, verdict):
    change = with_token_sums(error)
    found = row(rehearsed(0.9, prompts=30), tmp_path, "token sum", "rehearsed", change=change)
    assert found.verdict == verdict
    assert "jensen_shannon" in found.detail


def test_no_token_sums_no_row(tmp_path):
    rng = np.random.default_rng(0)
    (run,) = read_runs([rehearsed(0.9, prompts=5)(rng).write(rng, tmp_path)])
    assert "token sum" not in [r.name for r in predictions(run)]


def test_a_divergence_that_comes_out_below_zero_counts_as_none():
    """A KL is not negative; samples of it are, and then the guarantee is 1."""
    ones = np.ones((3, 4))
    here = Measured(("a", "b", "c"), ones.astype(bool), -ones, -ones, ones.astype(bool))
    rows = [{"id": name, "log_ref": -2.0, "log_pi": -1.5} for name in here.ids]
    (claim,) = guarantee(here, rows)
    assert claim.prediction == 1.0
