"""Which law a recipe's settings lead to."""

import numpy as np
import pytest
from support.simulated_runs import (
    Simulated,
    at_mass,
    controlled,
    kl_control,
    rehearsed,
    row,
    shared_text,
    verdicts,
)

from dph_theory import FORWARD_KL, REVERSE_KL
from dph_theory.laws import normalised_validity_at
from full_scale.recipe.law import law_of, rehearsal_target
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig


def law(name, **method):
    return law_of(setup(MethodConfig(name=name, **method), train={"num_generations": 4}).arguments)


@pytest.mark.parametrize(
    ("name", "place", "divergence", "scale"),
    [
        ("KL-control-sequence", "sequence", REVERSE_KL, "leave_one_out"),
        ("KL-control", "token", REVERSE_KL, "none"),
        ("GRPO-KL", "token", FORWARD_KL, "std"),
        ("RKL", "token", FORWARD_KL, "std"),
    ],
)
def test_place_divergence_and_normalisation(name, place, divergence, scale):
    found = law(name, beta=0.3)
    assert (found.place, found.divergence, found.scale, found.beta) == (place, divergence, scale, 0.3)
    assert found.group_size == 4


@pytest.mark.parametrize("name", ["GRPO", "DAPO", "DPH-F", "KL-DPG"])
def test_without_a_penalty_there_is_no_law(name):
    assert not law(name)
    assert str(law(name)) == "none, there is no KL penalty"


def test_only_reverse_kl_without_division_is_a_tilt():
    assert law("KL-control-sequence", beta=0.3).weight == pytest.approx(1)
    assert law("KL-control", beta=0.3).weight == pytest.approx(3 / 4)
    assert law("KL-control", beta=0.3).is_tilt
    assert not law("RKL", beta=0.3).is_tilt


class TestKLControl:
    @pytest.mark.parametrize(("method", "told"), [("KL-control", 7 / 16), ("KL-control-sequence", 1 / 2)])
    def test_the_optimum(self, tmp_path, method, told):
        """TRL's own advantage at eight answers a prompt weighs 7/8: the law is that of 8/7 beta (E4)."""
        run = controlled(method=method, told=told)
        assert verdicts(run, tmp_path, "log odds gain", "explored") == {"consistent"}

    def test_no_distance_is_left_to_the_law(self, tmp_path):
        assert verdicts(controlled(), tmp_path, "KL to the law", "explored") == {"consistent"}

    def test_a_collapsed_policy_of_the_right_validity_is_told_from_the_law(self, tmp_path):
        def make(rng):
            laws = kl_control(rng, 200, 0.5)
            rate = (laws.policy * laws.valid).sum(axis=1, keepdims=True)
            best = np.where(laws.valid, laws.base, 0).argmax(axis=1)
            failing = np.where(laws.valid, 0, laws.policy)
            laws.policy = rate * np.eye(laws.base.shape[1])[best] + failing
            return Simulated(laws, where=("explored",), method=controlled()(rng).method)

        assert row(make, tmp_path, "log odds gain", "explored").verdict == "consistent"
        assert row(make, tmp_path, "KL to the law", "explored").verdict == "inconsistent"

    def test_another_beta(self, tmp_path):
        assert verdicts(controlled(told=0.4), tmp_path, "log odds gain", "explored") == {"inconsistent"}

    def test_few_prompts(self, tmp_path):
        assert "consistent" not in verdicts(controlled(4), tmp_path, "log odds gain", "explored")

    def test_the_log_odds_ratio_needs_no_many_samples(self, tmp_path):
        """Two samples a prompt, as many of which never or always pass."""
        found = row(controlled(6000, samples=2), tmp_path, "log odds gain", "explored")
        assert found.prediction == pytest.approx(2)
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
            method = {"name": "KL-control-sequence", "mu": reached + off}
            return Simulated(laws, where=("explored",), method=method, training=training)

        assert row(make, tmp_path, "target validity", "explored").verdict == verdict


class TestSharedTexts:
    """Prompts of one text are one prompt whose verifier is the mean verdict (E5)."""

    @staticmethod
    def shared(told=0.3):
        def make(rng):
            laws = shared_text(rng, 40, 0.3)
            method = {"name": "KL-control-sequence", "beta": told}
            return Simulated(laws, where=("explored",), method=method)

        return make

    def test_the_law_of_the_mean_verdict(self, tmp_path):
        assert verdicts(self.shared(), tmp_path, "log odds gain", "explored") == {"consistent"}
        assert verdicts(self.shared(), tmp_path, "KL to the law", "explored") == {"consistent"}

    def test_another_beta(self, tmp_path):
        assert verdicts(self.shared(1.0), tmp_path, "log odds gain", "explored") == {"inconsistent"}

    def test_texts_are_the_units(self, tmp_path):
        assert row(self.shared(), tmp_path, "log odds gain", "explored").units == 40


class TestOtherPenalties:
    """Plain k3 under group normalisation: the forward dial of E4, prompt by prompt."""

    @staticmethod
    def normalised(told):
        def make(rng):
            laws, beta = kl_control(rng, 300, 0.5, concentration=5.0), 0.5
            rate = (laws.base * laws.valid).sum(axis=1)
            mass = normalised_validity_at(rate, beta, 8, "std", FORWARD_KL)
            laws.policy = at_mass(laws, mass)
            return Simulated(laws, where=("explored",), method={"name": "GRPO-KL", "beta": told})

        return make

    @pytest.mark.parametrize(("told", "verdict"), [(0.5, "consistent"), (3.0, "inconsistent")])
    def test_validity(self, tmp_path, told, verdict):
        assert row(self.normalised(told), tmp_path, "validity", "explored").verdict == verdict


def test_few_prompts_decide_nothing(tmp_path):
    few = rehearsed(0.5, prompts=4)
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
