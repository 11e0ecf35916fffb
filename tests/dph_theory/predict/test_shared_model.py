"""Pass@k in one model: what `dph predict --transfer` says of a run from the kernel of the base's answers."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.linear_answers import linear_answers

from dph_cli import main
from dph_theory.coverage import exact_pass_at_k
from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.predict import configuration_of
from dph_theory.predict.shared_model import forecast, lost
from dph_theory.transfer import AnswerKernel, LinearisedMethod, linearised_training

MEASURED = Path(__file__).parents[3] / "dph_theory" / "predict" / "measured.json"


def method_of(settings, trainer="trl"):
    """The linearised method of a run's settings."""
    return LinearisedMethod.from_objective(configuration_of(settings, trainer).objective)


RUN = {"steps": 20, "learning_rate": 0.05, "k": 8}
LISTED = {"adam": 1.0, "answers": "listed"}
HEAD = ["setting", "held-out", "Pass@8", "trained", "Pass@1"]
WORDS = "trl beta=0 learning_rate=0.2 max_steps=60 --k 8"


def opposed():
    """Two prompts: what makes the first right makes the second, whose right answer is rarer, wrong."""
    gradients = np.array([[1.0, 0.0], [-1.0, 0.0], [-0.9, 0.4], [0.3, -0.13]])
    rows = np.array([0, 0, 1, 1]), np.log([0.5, 0.5, 0.25, 0.75]), np.array([1, 0, 1, 0], bool)
    return AnswerKernel(("a", "b"), ("train", "held out"), *rows, gradients, LISTED)


def measured(seed=0, **how):
    kernel, *_ = linear_answers(seed, **how)
    return replace(kernel, about=LISTED)


def test_a_held_out_prompt_that_the_trained_one_opposes_is_lost_and_alone_it_would_stay():
    told = forecast(opposed(), method_of({"beta": 0.0}), steps=60, learning_rate=0.2, k=8)
    trained, held_out = told.sets
    assert trained.trained
    assert trained.pass_at_1[-1][0] > 0.9
    assert held_out.pass_at_k[0][0] == pytest.approx(exact_pass_at_k(0.25, 8))
    assert held_out.pass_at_k[-1][0] < 0.1 * held_out.pass_at_k[0][0]
    assert told.lost == ("b",)
    alone = linearised_training(opposed().alone(), method_of({"beta": 0.0}), [0], steps=60, step=0.2)
    assert alone.rates[:, -1, 1] == pytest.approx(0.25)
    assert told.better()[0].held_out[1] > held_out.pass_at_k[-1][0] + 0.01


def test_the_forecast_is_the_linearised_training_of_the_run_s_own_method():
    kernel = measured(prompts=6)
    found = {"beta": 0.2, "use_bias_correction_kl": False, "num_generations": 4}
    told = forecast(kernel, method_of(found), **RUN)
    assert method_of(found).divergence is FORWARD_KL
    course = linearised_training(kernel, method_of(found), kernel.prompts_in("train"), steps=20, step=0.05)
    wanted = course.pass_at_k(kernel.prompts_in("held out"), [1, 8])[:, -1].mean(axis=0)
    assert told.choices[0].held_out == pytest.approx(tuple(wanted))
    assert [way.name for way in told.sets] == ["train", "held out"]


@pytest.mark.parametrize(
    ("trainer", "settings", "wanted"),
    [
        ("trl", {"beta": 0.0, "scale_rewards": "none"}, ("none", 8, 0.0, None, False)),
        ("trl", {"beta": 0.1, "num_generations": 4}, ("std", 4, 0.1, REVERSE_KL, False)),
        ("openrlhf", {"algo": {"kl": {"init_coef": 0.01}, "advantage": {"estimator": "rloo"}},
          "rollout.n_samples_per_prompt": 8}, ("leave_one_out", 8, 0.01, REVERSE_KL, True)),
    ],
)  # fmt: skip
def test_settings_become_a_method(trainer, settings, wanted):
    of = method_of(settings, trainer)
    assert (of.scale, of.group_size, of.beta, of.divergence, of.in_reward) == wanted


@pytest.mark.parametrize(
    ("trainer", "settings", "says"),
    [
        ("trl", {"beta": "much", "num_generations": 8}, "no forecast: the coefficient much"),
        ("verl", {"algorithm": {"adv_estimator": "gae", "use_kl_in_reward": True}}, "the advantage is"),
    ],
)
def test_of_a_method_that_is_not_known_no_transfer_is_told(trainer, settings, says):
    with pytest.raises(ValueError, match=says):
        method_of(settings, trainer)


def test_a_kernel_without_adam_s_step_and_a_set_that_is_not_there_are_refused():
    method = method_of({"beta": 0.0})
    with pytest.raises(ValueError, match="one that dph transfer measured"):
        forecast(replace(opposed(), about={}), method, **RUN)
    with pytest.raises(ValueError, match="held_out='test' is not allowed: one of held out"):
        forecast(opposed(), method, held_out="test", **RUN)


def predict(tmp_path, words):
    path = tmp_path / "kernel.npz"
    opposed().save(path)
    return CliRunner().invoke(main, ["predict", *words.split(), "--transfer", str(path)])


def test_the_command_tells_both_sets_what_is_lost_and_what_would_retain_more(tmp_path):
    done = predict(tmp_path, WORDS)
    lines = done.output.splitlines()
    assert done.exit_code == 0, done.output
    assert len(lines) <= 13
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Expect held-out Pass@8 to fall: 0.900 to 0.")
    assert ", 60 steps of Adam at 0.2; first-step change of log odds: " in " ".join(done.output.split())
    assert 'Lost: "b".' in lines
    (head,) = (i for i, line in enumerate(lines) if line.split() == HEAD)
    assert lines[head + 1].split() == ["the", "base", "0.900", "0.500"]
    own, better = (float(line.split()[-2]) for line in lines[head + 2 : head + 4])
    assert lines[head + 2].startswith("these settings")
    assert "coefficient" in lines[head + 3]
    assert own < better
    assert lines[-1].startswith("Next: dph compare --help")
    assert "each prompt by itself" not in done.output


def test_lost_prompts_are_shown_by_their_text_with_how_often_such_names_are_right():
    errors = json.loads(MEASURED.read_text())["errors"]
    kernel = replace(opposed(), names=("1+1 is 2.\n2+2 is ", "1+1 is 2.\n3+5 is "))
    told = forecast(kernel, method_of({"beta": 0.0}), steps=60, learning_rate=0.2, k=8)
    lines = told.lines("kernel.npz")
    assert 'Lost: "3+5 is".' in lines
    right = f"{errors['named_lost']} of {errors['named']} such names were right"
    missed = f"{errors['lost'] - errors['named_lost']} of {errors['lost']} lost were not named."
    assert lines[-1] == f"In stored runs {right}; {missed}"


def test_names_are_right_as_often_as_the_stored_runs_say():
    assert lost(np.array([0.5, 0.5, 0.001]), np.array([0.4, 0.0, 0.0]), 8).tolist() == [1]
    errors = json.loads(MEASURED.read_text())["errors"]
    assert errors["named_lost"] <= min(errors["named"], errors["lost"])
    assert errors["named_lost"] > 0.9 * errors["named"]


def off(told):
    return next(line for line in told.lines("kernel.npz") if " forecasts erred by " in line)


def test_how_far_such_forecasts_were_off_is_said_beside_the_spread_of_the_linear_model_s_seeds():
    errors = json.loads(MEASURED.read_text())["errors"]
    told = forecast(opposed(), method_of({"beta": 0.0}), steps=60, learning_rate=0.2, k=8)
    within, spread = errors["within"], told.sets[-1].pass_at_k[-1][1]
    head = f"First steps below 1: {within['settings']} forecasts"
    head += f" erred by {within['rms']:.3f} (rms)"
    assert off(told) == f"{head}; seeds alone by {spread:.3f}."
    with_held = replace(
        told.choices[1], setting="forward KL to the base on 4 prompts, coefficient 1", held_out=(1.0, 1.0)
    )
    told = replace(told, choices=(told.choices[0], with_held))
    assert off(told).endswith(f"; a KL on few prompts {errors['constrained']:+.3f}, in the mean.")


def test_where_the_first_step_goes_too_far_the_direction_alone_is_said(tmp_path):
    near, far = (predict(tmp_path, f"trl beta=0 learning_rate={rate} --steps 9") for rate in (0.2, 3))
    assert "; first-step change of log odds: 0.3" in " ".join(near.output.split())
    assert far.output.startswith("Direction only: expect held-out Pass@256 ")
    beyond = json.loads(MEASURED.read_text())["errors"]["beyond"]
    words = f", in direction {beyond['moved'] - beyond['right']} of {beyond['moved']};"
    assert words in " ".join(far.output.split())


def test_a_setting_that_overflows_is_left_out_by_name_and_the_others_are_forecast():
    told = forecast(opposed(), method_of({"beta": 0.0}), steps=40, learning_rate=60.0, k=8)
    assert any(setting.startswith("forward KL in the loss (k3)") for setting in told.overflowing)
    assert told.choices[0].setting == "these settings"
    assert {choice.setting for choice in told.choices}.isdisjoint(told.overflowing)
    assert (
        told.lines("kernel.npz")[-1]
        == f"Left out, not finite: {len(told.overflowing)} other settings (--all)."
    )
    assert told.notes()[-1].startswith("Not finite: ")


def test_some_trained_prompts_are_held_at_the_base_where_enough_are_left_to_train():
    for trained in (4, 24):
        kernel = measured(prompts=26, trained=trained)
        told = forecast(kernel, method_of({"beta": 0.0}), **RUN)
        held = [choice.setting for choice in told.choices if "to the base" in choice.setting]
        wanted = [f"forward KL to the base on 4 prompts, coefficient {eta}" for eta in ("0.3", "1")]
        assert held == (wanted if trained == 24 else [])


def test_what_the_forecast_says_is_stored(tmp_path):
    path = tmp_path / "told.json"
    predict(tmp_path, f"trl beta=0 learning_rate=0.2 --steps 60 --k 8 --json {path}")
    stored = json.loads(path.read_text())["transfer"]
    assert stored["lost"] == ["b"]
    assert stored["steps"] == 60
    settings = {choice["setting"] for choice in stored["choices"]}
    assert settings >= {"these settings", "forward KL in the loss (k3), coefficient 1"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("trl beta=0 --steps 10", "needs the learning rate of Adam: learning_rate=1e-6"),
        ("trl beta=0 learning_rate=1e-6", "needs how long you train: --steps"),
        ("trl beta=0 learning_rate=1e-6 --steps 2 --held-out test", "held_out='test' is not allowed"),
    ],
)
def test_what_it_needs_is_said(tmp_path, words, says):
    done = predict(tmp_path, words)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())
