"""The law of a training by the arguments that its trainer got, whatever part of a recipe they come from."""

import json

import numpy as np
import pytest
from support.simulated_runs import Simulated, controlled, kl_control, row
from support.tiny_training import TRL_WARNS

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL
from dph_theory.methods.parts import ANSWERS, SUMS, TOKENS
from full_scale.recipe.law import DEFAULTS, law_of, rehearsal_target
from full_scale.recipe.methods import setup
from full_scale.recipe.schema import MethodConfig, load_recipe
from full_scale.training.arguments import arguments
from full_scale.training.online import OnlineConfig
from full_scale.training.record import TrainingRecord


def law(name, *overrides):
    return law_of(arguments(load_recipe(name, overrides)).arguments)


@pytest.mark.filterwarnings(TRL_WARNS)
def test_the_defaults_are_the_trainers(tmp_path):
    args = OnlineConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert {name: getattr(args, name) for name in DEFAULTS} == dict(DEFAULTS)


@pytest.mark.parametrize(
    ("overrides", "found"),
    [
        ((), (FORWARD_KL, "std", TOKENS)),
        (("train.use_bias_correction_kl=true",), (REVERSE_KL, "std", TOKENS)),
        (("train.scale_rewards=none",), (FORWARD_KL, "none", TOKENS)),
        (("train.loss_type=grpo",), (FORWARD_KL, "std", ANSWERS)),
        (("train.loss_type=dr_grpo",), (FORWARD_KL, "std", SUMS)),
        (("method.baseline=one",), (FORWARD_KL, "leave_one_out", TOKENS)),
        (
            ("method.name=DPH-JS", "method.beta=null", "method.form=definition"),
            (JENSEN_SHANNON, "std", TOKENS),
        ),
    ],
)
def test_what_the_recipe_changes_anywhere_changes_the_law(overrides, found):
    told = law("tiny-sql", "method.name=RKL", *overrides)
    assert (told.divergence, told.scale, told.reduction) == found
    assert ("one length" in str(told)) == (told.reduction == ANSWERS)


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (("train.scale_rewards=batch",), "deviation of all answers"),
        (("train.loss_type=vespo",), "loss_type='vespo'"),
        (("train.entropy_coef=0.1",), "entropy_coef=0.1"),
        (("method.name=GRPO", "method.beta=null"), "no KL penalty"),
    ],
)
def test_settings_without_a_law_are_told_why(overrides, why):
    told = law("tiny-sql", "method.name=RKL", *overrides)
    assert not told
    assert why in str(told)


def test_rewards_beside_the_verdict_have_no_law():
    recipe = load_recipe("tiny-sql", ["method.name=RKL"])
    assert law_of(arguments(recipe, rewards={"seen": 0.0}).arguments)
    assert "beside the verdict" in str(law_of(arguments(recipe, rewards={"length": 0.5}).arguments))


def test_a_baseline_weighs_a_right_answer_by_one(tmp_path):
    """beta .2, eight answers: log odds grow by 1/.2 = 5, and by 7/8 of that with the group's own mean."""

    def make(baseline):
        method = {"name": "KL-control", "beta": 0.2, **({"baseline": baseline} if baseline else {})}
        return lambda rng: Simulated(kl_control(rng, 50, 0.2), where=("explored",), method=method)

    gains = {b: row(make(b), tmp_path / str(b), "log odds gain").prediction for b in (None, "one")}
    assert gains == pytest.approx({None: 4.375, "one": 5.0})


def test_what_the_record_says_the_trainer_got_is_what_counts(tmp_path):
    """Of a run whose recipe names one beta and whose trainer had another, the trainer's is held to."""
    got = dict(setup(MethodConfig(name="KL-control-sequence", beta=0.5)).arguments)
    make = controlled(told=0.25, training={"arguments": {**DEFAULTS, **got}})
    assert row(make, tmp_path, "log odds gain").verdict == "consistent"


def test_a_record_without_arguments_has_those_of_its_recipe(tmp_path):
    make = controlled(train={"scale_rewards": "none", "num_generations": 4}, method="KL-control")
    run = make(np.random.default_rng(0)).write(np.random.default_rng(0), tmp_path)
    assert "arguments" not in json.loads((run / "training.json").read_text())["results"]
    found = TrainingRecord.read(run / "training.json").arguments
    assert (found["beta"], found["num_generations"], found["online"]) == (0.5, 4, "none")


@pytest.mark.parametrize(
    ("method", "train", "message"),
    [
        ({"name": "DPH-F"}, {"rehearsal_form": "released_js"}, r"train key='rehearsal_form'.*method\.form"),
        ({"name": "DPH-F"}, {"rehearsal_reduction": "sum"}, r"rehearsal_reduction.*method\.name"),
        ({"name": "GRPO"}, {"baseline": "one"}, r"train key='baseline'.*method\.baseline"),
        ({"name": "alpha-DPG"}, {"loss_type": "grpo"}, r"train\.loss_type='grpo'.*sums over whole answers"),
        ({"name": "GRPO", "baseline": "one"}, {"scale_rewards": "group"}, r"train\.scale_rewards='group'"),
        ({"name": "KL-control-sequence"}, {"scale_rewards": "group"}, r"train\.scale_rewards='group'"),
        ({"name": "GRPO"}, {"use_bias_correction_kl": False}, r"train\.use_bias_correction_kl.*no KL in the"),
        ({"name": "GRPO"}, {"ratio_clip": 2.0}, r"train\.ratio_clip=2\.0.*alpha-DPG"),
    ],
)
def test_train_goes_through_the_methods_rules(method, train, message):
    with pytest.raises(ValueError, match=message):
        setup(MethodConfig(**method), train=train)


def test_the_notes_are_on_what_the_trainer_gets():
    divided = "divided by the group's sample deviation"
    assert any(divided in note for note in setup(MethodConfig(name="GRPO")).notes)
    assert not any(
        divided in n for n in setup(MethodConfig(name="GRPO"), train={"scale_rewards": "none"}).notes
    )


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


@pytest.mark.parametrize("loss", ["F", "JS", "alpha"])
def test_a_released_loss_has_no_slope_at_the_base(loss):
    """The clamped k3 of the release is not -log u, which aims at the filtered model."""
    recipe = load_recipe("llama3.1-8b-bird-release", [f"method.name=DPH-{loss}"])
    assert rehearsal_target(arguments(recipe).arguments) == "base"


def test_the_papers_rehearsal_aims_at_the_filtered_model():
    recipe = load_recipe("llama3.1-8b-bird", ["method.name=DPH-F"])
    assert rehearsal_target(arguments(recipe).arguments) == "one"
