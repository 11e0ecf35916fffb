"""What a training optimises by the arguments that its trainer got, wherever a recipe has them from."""

import itertools
from dataclasses import MISSING, fields
from typing import get_type_hints

import pytest
from support.simulated_runs import controlled, row
from trl import GRPOConfig

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from dph_theory.losses.objective import ANSWERS, SUMS, TOKENS, TRL_LOSS_TYPES
from dph_theory.predict import configuration_of
from full_scale.recipe.methods import METHODS, setup
from full_scale.recipe.objective import DEFAULTS, objective_of
from full_scale.recipe.rehearsal import rehearsal_target
from full_scale.recipe.schema import MethodConfig, load_recipe
from full_scale.recipe.settings import KINDS, OWN, SETTINGS
from full_scale.training.arguments import arguments
from full_scale.training.online import OnlineConfig

PAPER = "llama3.1-8b-bird"


def recipe_of(name, method, *overrides):
    return load_recipe(name, (f"method.name={method}", *overrides))


def test_the_stored_settings_are_those_of_the_installed_trainer():
    args = [(one.name, one.default, one.default_factory) for one in fields(OnlineConfig)]
    assert {name: make() if value is MISSING else value for name, value, make in args} == SETTINGS
    assert {*SETTINGS} - {field.name for field in fields(GRPOConfig)} == OWN
    kinds = get_type_hints(OnlineConfig)
    # A member of an enumeration is text, and no YAML writes a ParallelismConfig.
    named = {f"{name}_strategy" for name in ("eval", "hub", "logging", "save")} | {
        "lr_scheduler_type",
        "optim",
    }
    named |= {"debug", "parallelism_config", "trackio_static_space_id"}
    assert {name for name, kind in KINDS.items() if kinds[name] != kind} == named


DEFINITION = ("method.name=DPH-JS", "method.beta=null", "method.rehearsal_form=definition")


@pytest.mark.parametrize(
    ("overrides", "of_tokens", "divergence", "scale", "reduction"),
    [
        ((), True, FORWARD_KL, "std", TOKENS),
        (("train.use_bias_correction_kl=true",), True, REVERSE_KL, "std", TOKENS),
        (("train.scale_rewards=none",), True, FORWARD_KL, "none", TOKENS),
        (("train.loss_type=grpo",), True, FORWARD_KL, "std", ANSWERS),
        (("train.loss_type=dr_grpo",), True, FORWARD_KL, "std", SUMS),
        (("train.loss_type=vespo",), True, FORWARD_KL, "std", TOKENS),
        (("method.baseline=one",), True, FORWARD_KL, "leave_one_out", TOKENS),
        (("method.divided_by=mean",), True, FORWARD_KL, "mean", TOKENS),
        (("method.divided_by=none",), True, FORWARD_KL, "none", TOKENS),
        (("method.rate_power=1",), True, FORWARD_KL, None, TOKENS),
        (DEFINITION, True, JENSEN_SHANNON, "std", TOKENS),
        (("method.name=KL-control",), True, REVERSE_KL, "none", TOKENS),
        (("method.name=KL-control", "method.baseline=one"), True, REVERSE_KL, "leave_one_out", TOKENS),
        (("method.name=KL-control-sequence",), False, REVERSE_KL, "leave_one_out", TOKENS),
    ],
)
def test_what_the_recipe_changes_anywhere_changes_the_objective(
    overrides, of_tokens, divergence, scale, reduction
):
    beta = () if overrides == DEFINITION else ("method.mu=null", "method.beta=0.3")
    objective = objective_of(arguments(recipe_of("tiny-sql", "RKL", *overrides, *beta)).arguments)
    assert (objective.of_tokens, objective.divergence) == (of_tokens, divergence)
    assert (objective.advantage.scale, objective.reduction) == (scale, reduction)
    assert objective.unknown == ""
    assert objective.coefficient == (0.1 if overrides == DEFINITION else 0.3)
    assert ("one length" in str(objective)) == (objective.reduction == ANSWERS)


@pytest.mark.parametrize(
    ("overrides", "rewards", "why"),
    [
        (("train.scale_rewards=batch",), {}, "the whole batch's std"),
        (("train.entropy_coef=0.1",), {}, "the entropy bonus"),
        (("train.top_entropy_quantile=0.2",), {}, "top_entropy_quantile=0.2"),
        (("train.mask_truncated_completions=true",), {}, "truncated answers are masked"),
        (("train.importance_sampling_level=sequence", "train.use_bias_correction_kl=true"),
         {}, "1/L reverse and 1 - 1/L forward"),
        (("method.name=GRPO", "method.beta=null"), {}, "no KL penalty"),
        ((), {"length": 0.5}, "correctness is not the reward, or not alone"),
    ],
)  # fmt: skip
def test_of_settings_without_a_known_stationary_policy_it_says_why(overrides, rewards, why):
    recipe = recipe_of("tiny-sql", "RKL", *overrides)
    objective = objective_of(arguments(recipe, rewards=rewards).arguments)
    assert why in objective.unknown
    assert str(objective).endswith(f", {objective.unknown}")


def deciding(objective):
    """The parts of an objective that decide where training converges, and how fast."""
    term = objective.term if objective.coefficient else None
    size, updates = objective.group_size, objective.updates
    parts = term, objective.coefficient, objective.advantage, size, objective.reduction, updates
    return *parts, objective.mixed_only, bool(objective.unknown)


def test_the_dry_run_and_dph_predict_agree_over_the_grid_of_trl():
    grid = {
        "beta": (0.0, 0.04),
        "use_bias_correction_kl": (True, False),
        "scale_rewards": ("group", "batch", "none", True, False),
        "loss_type": tuple(TRL_LOSS_TYPES),
        "entropy_coef": (0.0, 0.01),
        "top_entropy_quantile": (1.0, 0.2),
        "importance_sampling_level": ("token", "sequence"),
        "mask_truncated_completions": (False, True),
    }
    known = 0
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        of_recipe, of_trainer = objective_of(settings), configuration_of(settings, "trl").objective
        assert deciding(of_recipe) == deciding(of_trainer)
        known += not of_recipe.unknown
    # A KL, no bonus, nothing masked; corrected k3 by tokens, or plain k3; four scales; every loss type.
    assert known == 3 * 4 * len(TRL_LOSS_TYPES)


@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.7},
        {"top_p": 0.9},
        {"top_k": 50},
        {"top_k": -1},
        {"min_p": 0.1},
        {"reward_weights": [1.0, 0.5]},
        {"reward_weights": [1.0, 0.0]},
        {"sync_ref_model": True},
        {"sync_ref_model": True, "top_entropy_quantile": 0.5, "scale_rewards": "batch"},
        {"num_generations": 16, "num_iterations": 2, "gradient_accumulation_steps": 4},
        {"steps_per_generation": 8, "gradient_accumulation_steps": 2},
        {"generation_batch_size": 512, "per_device_train_batch_size": 8},
        {"use_vllm": True},
        {"use_vllm": True, "vllm_importance_sampling_correction": False},
        {"delta": 4.0},
        {"use_liger_kernel": True, "repetition_penalty": 1.1},
        {"epsilon": 0.1, "epsilon_high": 0.28, "loss_type": "luspo"},
    ],
)
def test_the_direct_objective_is_that_of_dph_predict_for_other_settings_of_trl(settings, beta):
    given = {"use_bias_correction_kl": True, "loss_type": "dapo", "beta": beta, **settings}
    of_recipe, of_trainer = objective_of(given), configuration_of(given, "trl").objective
    assert deciding(of_recipe) == deciding(of_trainer)


@pytest.mark.parametrize(
    "name", ["GRPO-KL", "RKL", "KL-control", "KL-control-sequence", "GRPO", "DAPO", "MaxRL"]
)
def test_a_method_by_name_optimises_what_its_trainer_s_arguments_do(name):
    setting = {"beta": 0.1} if METHODS[name].penalty else {}
    objective = objective_of(setup(MethodConfig(name=name, **setting)).arguments)
    declared = METHODS[name].objective(8, 0.1)
    assert (objective.divergence, objective.coefficient) == (declared.divergence, declared.coefficient)
    assert (objective.of_tokens, objective.reduction) == (declared.of_tokens, declared.reduction)
    # TRL divides by the sample std of a group, the losses of this package by the population's.
    scale = declared.advantage.scale.removeprefix("population_")
    expected = "leave_one_out" if name == "KL-control-sequence" else scale
    assert (declared.mixed_only, objective.advantage.scale) == (name in ("DAPO", "RKL"), expected)


def test_a_reward_that_is_only_logged_leaves_the_stationary_policy():
    recipe = recipe_of("tiny-sql", "RKL")
    assert objective_of(arguments(recipe, rewards={"seen": 0.0}).arguments).unknown == ""


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
