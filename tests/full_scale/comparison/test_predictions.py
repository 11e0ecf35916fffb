"""Every prediction, on runs simulated from exact laws: true ones, planted violations, too few samples."""

from dataclasses import replace

import numpy as np
import pytest
from support.simulated_runs import Simulated, collapsed, kl_control, row, shifted, verdicts

from dph_theory import kappa
from full_scale.comparison import verdicts as rule
from full_scale.comparison.frontier import least_cost, smoothed
from full_scale.comparison.measurements import Measured, Run, read_runs
from full_scale.comparison.predictions import _base_rate_shift, predictions


def controlled(prompts=200, *, beta=0.5, told=None, samples=32, method="KL-control", **changes):
    """KL control at its optimum, whose record tells another beta if `told` is given."""
    return lambda rng: Simulated(
        kl_control(rng, prompts, beta),
        samples=samples,
        where=("explored",),
        method={"name": method, "beta": told or beta},
        **changes,
    )


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
        assert not [r for r in predictions(run) if r.set == "training"]


class TestKLControl:
    @pytest.mark.parametrize("method", ["KL-control", "KL-control-sequence"])
    def test_the_optimum(self, tmp_path, method):
        assert verdicts(controlled(method=method), tmp_path, "log odds gain", "explored") == {"consistent"}

    def test_another_beta(self, tmp_path):
        assert verdicts(controlled(told=0.4), tmp_path, "log odds gain", "explored") == {"inconsistent"}

    def test_few_prompts(self, tmp_path):
        assert "consistent" not in verdicts(controlled(4), tmp_path, "log odds gain", "explored")

    def test_the_log_odds_ratio_needs_no_many_samples(self, tmp_path):
        """Two samples a prompt, as many of which never or always pass."""
        found = row(controlled(6000, samples=2), tmp_path, "log odds gain", "explored")
        assert found.prediction == 2
        assert found.estimate == pytest.approx(2, abs=found.margin)
        assert found.margin < 0.3

    def test_nothing_solved(self, tmp_path):
        def never(results):
            for prompt in results["sets"]["explored"]["prompts"]:
                prompt["correct"] = [0] * len(prompt["correct"])

        found = row(controlled(), tmp_path, "log odds gain", "explored", change=never)
        assert found.verdict == "not enough samples"
        assert found.estimate == -np.inf

    @pytest.mark.parametrize(("off", "verdict"), [(0.0, "consistent"), (-0.15, "inconsistent")])
    def test_target_validity(self, tmp_path, off, verdict):
        def make(rng):
            laws = kl_control(rng, 200, 0.5)
            rates = (laws.base * laws.valid).sum(axis=1)
            reached = float((laws.policy * laws.valid).sum(axis=1).mean())
            training = {"base_rates": {f"p{i}": float(rate) for i, rate in enumerate(rates)}}
            training["explored"] = list(training["base_rates"])
            method = {"name": "KL-control", "mu": reached + off}
            return Simulated(laws, where=("explored",), method=method, training=training)

        assert row(make, tmp_path, "target validity", "explored").verdict == verdict


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
    return Measured(ids, np.array(correct, bool), zeros, zeros, np.array(base, bool))


def test_the_worst_of_many_prompts_gets_intervals_for_as_many(tmp_path):
    rng = np.random.default_rng([0, 7])
    (run,) = read_runs([controlled(100, beta=0.2)(rng).write(rng, tmp_path)])
    here = run.sets["explored"]
    (found,) = [each for each in predictions(run) if each.name == "KL, worst prompt"]
    assert found.prediction in least_cost(here, rule.LEVEL / 100)
    assert found.prediction not in least_cost(here, rule.LEVEL)


def test_what_the_meters_base_rates_may_be_off_by():
    """Two prompts off in opposite directions: hardly a mean, but a margin."""
    base = np.arange(16) < np.array([[4], [12]])
    here = measured([[1, 1, 0, 0]] * 2, base)
    used = {"0": 3 / 8, "1": 7 / 8}
    run = Run("run", {"presample": {"k": 8}}, {"base_rates": used}, {}, {"explored": here})
    rates = (8 * np.array([*used.values()]) + 0.5) / 9
    shift = rule.mean(kappa(here.rate, rates) - kappa(here.rate, smoothed(base)))
    assert _base_rate_shift(run) == abs(shift.value) + shift.margin() > 3 * abs(shift.value) > 0
    assert _base_rate_shift(replace(run, training={"base_rates": {"0": 0.5}})) == np.inf
