"""The law of a training by the arguments that its trainer got, whatever part of a recipe they come from."""

import pytest
from support.simulated_runs import controlled, row
from support.tiny_training import TRL_WARNS

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from dph_theory.trainers.parts import ANSWERS, SUMS, TOKENS
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig, load_recipe
from full_scale.recipe.stationary import DEFAULTS, rehearsal_target, stationary_policy
from full_scale.training.arguments import arguments
from full_scale.training.online import OnlineConfig

PAPER = "llama3.1-8b-bird"


def recipe_of(name, method, *overrides):
    return load_recipe(name, (f"method.name={method}", *overrides))


@pytest.mark.filterwarnings(TRL_WARNS)
def test_the_defaults_are_the_trainers(tmp_path):
    args = OnlineConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert {name: getattr(args, name) for name in DEFAULTS} == dict(DEFAULTS)


DEFINITION = ("method.name=DPH-JS", "method.beta=null", "method.rehearsal_form=definition")


@pytest.mark.parametrize(
    ("overrides", "found", "weight"),
    [
        ((), ("token", FORWARD_KL, "std", TOKENS), None),
        (("train.use_bias_correction_kl=true",), ("token", REVERSE_KL, "std", TOKENS), None),
        (("train.scale_rewards=none",), ("token", FORWARD_KL, "none", TOKENS), None),
        (("train.loss_type=grpo",), ("token", FORWARD_KL, "std", ANSWERS), None),
        (("train.loss_type=dr_grpo",), ("token", FORWARD_KL, "std", SUMS), None),
        (("method.baseline=one",), ("token", FORWARD_KL, "leave_one_out", TOKENS), None),
        (DEFINITION, ("token", JENSEN_SHANNON, "std", TOKENS), None),
        # Only the reverse KL without division is a tilt; TRL's own mean of eight takes an eighth away (E4).
        (("method.name=KL-control",), ("token", REVERSE_KL, "none", TOKENS), 7 / 8),
        (
            ("method.name=KL-control", "method.baseline=one"),
            ("token", REVERSE_KL, "leave_one_out", TOKENS),
            1,
        ),
        (("method.name=KL-control-sequence",), ("sequence", REVERSE_KL, "leave_one_out", TOKENS), 1),
    ],
)
def test_what_the_recipe_changes_anywhere_changes_the_law(overrides, found, weight):
    beta = () if overrides == DEFINITION else ("method.mu=null", "method.beta=0.3")
    told = stationary_policy(arguments(recipe_of("tiny-sql", "RKL", *overrides, *beta)).arguments)
    assert (told.place, told.divergence, told.scale, told.reduction) == found
    assert told.is_tilt == (weight is not None)
    assert weight is None or (told.beta, told.weight) == (0.3, pytest.approx(weight))
    assert ("one length" in str(told)) == (told.reduction == ANSWERS)


@pytest.mark.parametrize(
    ("overrides", "rewards", "why"),
    [
        (("train.scale_rewards=batch",), {}, "deviation of all answers"),
        (("train.loss_type=vespo",), {}, "loss_type='vespo'"),
        (("train.entropy_coef=0.1",), {}, "entropy_coef=0.1"),
        (("method.name=GRPO", "method.beta=null"), {}, "no KL penalty"),
        ((), {"length": 0.5}, "beside correctness"),
    ],
)
def test_settings_without_a_law_are_told_why(overrides, rewards, why):
    told = stationary_policy(arguments(recipe_of("tiny-sql", "RKL", *overrides), rewards=rewards).arguments)
    assert not told
    assert why in str(told)


def test_a_reward_that_is_only_logged_leaves_the_law():
    assert stationary_policy(arguments(recipe_of("tiny-sql", "RKL"), rewards={"seen": 0.0}).arguments)


def test_what_the_record_says_the_trainer_got_is_what_counts(tmp_path):
    """Of a run whose recipe names one beta and whose trainer had another, the trainer's is held to."""
    got = dict(setup(MethodConfig(name="KL-control-sequence", beta=0.5)).arguments)
    make = controlled(told=0.25, training={"arguments": {**DEFAULTS, **got}})
    assert row(make, tmp_path, "log odds gain").verdict == "consistent"


@pytest.mark.parametrize(
    ("recipe", "overrides", "target"),
    [
        # The clamped k3 of the release is not -log u, which aims at the filtered model: no slope at the base.
        (f"{PAPER}-release", ("method.name=DPH-F",), "base"),
        (f"{PAPER}-release", ("method.name=DPH-JS",), "base"),
        (f"{PAPER}-release", ("method.name=DPH-alpha",), "base"),
        (PAPER, ("method.name=DPH-F",), "one"),
        (PAPER, ("method.name=DPH-F", "method.gauge=1.0"), "base"),
        (PAPER, ("method.name=DPH-F", "method.gauge=0.5"), None),
        (PAPER, ("method.name=DPH-F", "method.eta=0"), None),
        (PAPER, ("method.name=DPH-F", "method.rehearsal_form=definition"), None),
        (PAPER, ("method.name=DPH-JS",), "base"),
        (PAPER, ("method.name=DPH-JS", "method.gauge=0.1"), None),
        (PAPER, ("method.name=DPH-alpha", "method.alpha=0.7"), "base"),
        (PAPER, ("method.name=GRPO",), None),
    ],
)
def test_what_a_rehearsal_aims_at(recipe, overrides, target):
    assert rehearsal_target(arguments(load_recipe(recipe, overrides)).arguments) == target
