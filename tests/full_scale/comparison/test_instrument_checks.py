"""Every instrument check, on runs simulated from exact laws: true, planted violations, too few samples."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import (
    Simulated,
    collapsed,
    controlled,
    kl_control,
    lines,
    rehearsed,
    row,
    shifted,
    verdicts,
)

from dph_theory import JENSEN_SHANNON, kappa
from full_scale.comparison import verdicts as rule
from full_scale.comparison.instrument_checks import base_rate_shift, guarantee
from full_scale.comparison.measurements import MeasuredRun, PairedSet, least_cost, read_runs
from full_scale.evaluation.record import Evaluation, ModelHash, RehearsedRow
from full_scale.training.record import TrainingRecord


def repeated(results):
    """A planted violation: the second half of the samples is one sample again and again."""
    for found in results["sets"].values():
        for prompt in found["prompts"]:
            half = len(prompt["correct"]) // 2
            prompt["correct"][half:] = [prompt["correct"][half]] * half


class TestFrontier:
    def test_on_the_frontier_is_consistent_and_near_zero(self, tmp_path):
        assert verdicts(controlled(), tmp_path, "excess KL", "explored") == {"consistent"}
        assert abs(row(controlled(), tmp_path, "excess KL", "explored").estimate) < 0.05

    def test_collapse_is_consistent_and_far_above(self, tmp_path):
        found = row(lambda rng: Simulated(collapsed(rng, 200)), tmp_path, "excess KL", "in_domain")
        assert found.verdict == "consistent"
        assert found.estimate > 2 * found.margin

    def test_log_probabilities_that_are_off(self, tmp_path):
        options = {"change": shifted(0.4)}
        assert verdicts(controlled(), tmp_path, "excess KL", "explored", **options) == {"inconsistent"}

    def test_few_prompts(self, tmp_path):
        assert verdicts(controlled(4), tmp_path, "excess KL", "explored") == {"not enough samples"}

    def test_worst_prompt(self, tmp_path):
        strong = controlled(40, beta=0.2)
        assert "inconsistent" not in verdicts(strong, tmp_path, "KL, worst prompt", "explored")
        off = verdicts(strong, tmp_path, "KL, worst prompt", "explored", change=shifted(2.0))
        assert off == {"inconsistent"}

    def test_never_solved_prompts_are_told(self, tmp_path):
        found = row(controlled(400, samples=4), tmp_path, "excess KL", "explored")
        assert "no base sample solved" in found.detail


class TestTraining:
    @staticmethod
    def simulated(excess, error=0.02):
        log = [
            {"step": step, "collapse/excess_kl": value, "collapse/excess_kl_se": error}
            for step, value in enumerate(excess)
        ]

        def make(rng):
            laws = kl_control(rng, 60, 0.5, concentration=5.0)
            rates = (laws.base * laws.valid).sum(axis=1)
            training = {"log": log, "base_rates": {f"p{i}": float(rate) for i, rate in enumerate(rates)}}
            method, train = {"name": "GRPO"}, {"generation_batch_size": 256, "num_generations": 8}
            return Simulated(laws, where=("explored",), method=method, training=training, train=train)

        return make

    def test_rising(self, tmp_path):
        found = row(self.simulated([0.0, 0.1, 0.3]), tmp_path, "excess KL, worst step", "training")
        assert found.verdict == "consistent"
        assert "from 0 to 0.3 in 3 logs" in found.detail
        assert found.units == 32

    def test_far_below_zero(self, tmp_path):
        found = row(self.simulated([0.0, -1.5, 0.3]), tmp_path, "excess KL, worst step", "training")
        assert found.verdict == "inconsistent"
        assert "step 1" in found.detail

    def test_noise_of_the_base_rates_is_allowed_for(self, tmp_path):
        found = row(self.simulated([0.0, -0.05], 0.001), tmp_path, "excess KL, worst step", "training")
        assert found.verdict == "consistent"

    def test_a_log_without_the_meter(self, tmp_path):
        rng = np.random.default_rng(0)
        (run,) = read_runs([controlled(5)(rng).write(rng, tmp_path)])
        assert not [r for r in lines(run) if r.set == "training"]


class TestPassAtK:
    def test_independent_samples(self, tmp_path):
        assert verdicts(controlled(), tmp_path, "Pass@8 from rates", "explored") == {"consistent"}

    def test_repeated_samples(self, tmp_path):
        found = verdicts(controlled(), tmp_path, "Pass@8 from rates", "explored", change=repeated)
        assert found == {"inconsistent"}

    def test_k_fits_the_samples(self, tmp_path):
        assert row(controlled(samples=8), tmp_path, "Pass@2 from rates", "explored").verdict == "consistent"


def measured(correct, base):
    zeros = np.zeros(np.shape(correct))
    ids = tuple(map(str, range(len(correct))))
    return PairedSet(ids, np.array(correct, bool), zeros, zeros, np.array(base, bool))


def test_the_worst_of_many_prompts_gets_intervals_for_as_many(tmp_path):
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([controlled(100, beta=0.2)(rng).write(rng, tmp_path)])
    here = run.sets["explored"]
    (found,) = [each for each in lines(run) if each.name == "KL, worst prompt"]
    assert found.prediction in least_cost(here, rule.LEVEL / 100)
    assert found.prediction not in least_cost(here, rule.LEVEL)


def test_what_the_meters_base_rates_may_be_off_by():
    """Two prompts off in opposite directions: hardly a mean, but a margin."""
    base = np.arange(16) < np.array([[4], [12]])
    here = measured([[1, 1, 0, 0]] * 2, base)
    used = {"0": 3 / 8, "1": 7 / 8}
    known = {"run": "run", "method": "GRPO", "log": (), "rehearsed": (), "explored": (), "findings": ()}
    known |= {"arguments": {}}
    training = TrainingRecord(config={"presample": {"k": 8}}, base_rates=used, steps=0, seconds=None, **known)
    run = MeasuredRun("run", training, Evaluation("run", ModelHash("0"), {}), {"explored": here})
    rates = (8 * np.array([*used.values()]) + 0.5) / 9
    shift = rule.mean(kappa(here.rate, rates) - kappa(here.rate, here.smoothed_base_rate))
    assert base_rate_shift(run) == abs(shift.value) + shift.margin() > 3 * abs(shift.value) > 0
    assert base_rate_shift(replace(run, training=replace(training, base_rates={"0": 0.5}))) == np.inf


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
    plain = np.mean([row.log_ref - row.log_pi for row in run.evaluation.rehearsed.rows])
    assert kl == pytest.approx(math.log(2), abs=0.06)
    assert found.estimate < math.exp(-plain) - found.margin


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
    assert "token sum" not in [r.name for r in lines(run)]


def test_a_divergence_that_comes_out_below_zero_counts_as_none():
    """A KL is not negative; samples of it are, and then the guarantee is 1."""
    ones = np.ones((3, 4))
    here = PairedSet(("a", "b", "c"), ones.astype(bool), -ones, -ones, ones.astype(bool))
    rows = [RehearsedRow(name, log_ref=-2.0, log_pi=-1.5) for name in here.ids]
    (claim,) = guarantee(here, rows)
    assert claim.prediction == 1.0
