import json

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.predict.configuration import READERS

VERL = (
    "actor_rollout_ref.actor.use_kl_loss=true",
    "algorithm.adv_estimator=grpo",
    "actor_rollout_ref.rollout.n=8",
)


def predict(*arguments):
    return CliRunner().invoke(main, ["predict", *arguments])


def run(tmp_path, rates, *arguments):
    path = tmp_path / "rates.json"
    path.write_text(rates)
    return predict(*(arguments or ("trl", "beta=0.5")), "--base-rates", str(path))


def prediction(tmp_path, *arguments, rates="[0.25]"):
    done = run(tmp_path, rates, *arguments, "--json", "-")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["prediction"]


def answer(done):
    """What stands before the tables."""
    assert done.exit_code == 0, done.output
    return done.stdout.split("\n\n")[0].splitlines()


def test_the_answer_stands_first_in_ten_lines_of_eighty_columns(tmp_path):
    settings = ("--step", "0.2", "--steps", "100")
    lines = answer(run(tmp_path, '{"sum": 0.25, "product": 0.1}', "trl", "beta=0.5", *settings))
    assert lines[0] == "TRL 1.16, coefficient 0.5: reverse KL per token."
    assert lines[1].split("  ")[-2:] == ["", "in the end"] or "after 100 steps" in lines[1]
    assert lines[2].split() == ["Pass@1", "0.1750", "0.7094", "0.9344"]
    assert lines[3].split()[:2] == ["Pass@8", "0.7347"]
    assert "99% there: half the prompts after 896, all after" in lines[4]


@pytest.mark.parametrize(
    "arguments",
    [
        *((trainer,) for trainer in READERS),
        (
            "verl",
            *VERL,
            "algorithm.kl_ctrl.kl_coef=0",
            "actor_rollout_ref.actor.clip_ratio_low=0.2",
            "algorithm.filter_groups.enable=true",
            "made_up_key=1",
            "another_one=2",
            "third_one=3",
        ),
        ("trl", "beta=0.04", "use_bias_correction_kl=false", "top_p=0.5", "delta=3"),
        ("areal", "actor.kl_ctl=0"),
        ("TRL", "beta=0", "num_generations=4", "--step", "0.1", "--steps", "1000"),
    ],
    ids=" ".join,
)
def test_every_answer_is_short_and_narrow(tmp_path, arguments):
    done = run(tmp_path, "[0.25, 0.5]", *arguments)
    assert len(answer(done)) <= 10
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_file_and_a_trainer_s_name_with_the_same_settings_say_the_same(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("beta: 0.5\nnum_generations: 4\n")
    named = prediction(tmp_path, "Trl", "beta=0.5", "num_generations=4")
    assert prediction(tmp_path, str(path)) == named
    assert prediction(tmp_path, str(path), "num_generations=8") != named


def test_what_would_keep_more_can_be_pasted(tmp_path):
    out = run(tmp_path, "[0.3]", "trl", "beta=0.1", "use_bias_correction_kl=false").output
    assert "With a small beta, kept: all right answers, not in the base's" in out
    assert "To keep more:\n  use_bias_correction_kl: true\n" in out
    assert "To keep more:\n  beta: 0.04\n" in predict("trl").output
    assert (
        "To keep more:\n  --use-kl-loss --kl-loss-coef 0.001 --kl-loss-type k2\n" in predict("slime").output
    )
    # A penalty in the reward is no help where it would be divided along.
    change = "  algorithm.use_kl_in_reward=true actor_rollout_ref.actor.use_kl_loss=false\n"
    assert f"{change}  algorithm.norm_adv_by_std_in_grpo=false\n" in predict("verl", *VERL).output
    assert "To keep more" not in predict("openrlhf", "algo.advantage.estimator=group_norm").output


def test_a_trainer_s_own_advantage_is_the_one_predicted(tmp_path):
    # Centred, not divided: logit mu = logit A1 + (1 - 1/G)/beta.
    centred = prediction(tmp_path, "tinker", "kl_penalty_coef=0.5", "group_size=8")
    assert centred["mean_validity"] == pytest.approx(0.657323, abs=1e-6)
    assert prediction(tmp_path, "trl", "beta=0.5")["mean_validity"] == pytest.approx(0.975550, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nemo-rl",), "no objective is known"),
        (("areal",), "no ref is set"),
        (("verl",), "a learned value function"),
        (("openrlhf", "algo.advantage.estimator=reinforce"), "the KL is divided along"),
        (
            ("slime", "use-kl-loss=true", "kl-loss-coef=0.1"),
            "how many answers a prompt has (n-samples-per-prompt)",
        ),
    ],
)
def test_without_a_law_no_pass_rates_are_told(tmp_path, arguments, why):
    done = run(tmp_path, "[0.25]", *arguments)
    assert "Pass@1" not in done.stdout
    assert why in " ".join(done.stdout.split())


def test_openrlhf_s_kl_is_divided_along_under_the_batch_s_deviation_alone(tmp_path):
    found = prediction(
        tmp_path, "openrlhf", "algo.advantage.estimator=group_norm", "rollout.n_samples_per_prompt=8",
        "algo.kl.init_coef=0.5",
    )  # fmt: skip
    assert found["mean_validity"] == pytest.approx(0.975550, abs=1e-6)
    assert "penalised rewards" not in predict("openrlhf", "algo.advantage.estimator=group_norm").output
    assert "penalised rewards" in predict("openrlhf", "algo.advantage.estimator=reinforce").output


def test_an_end_near_one_says_when_and_no_rate_is_one(tmp_path):
    out = run(tmp_path, "[0.25, 1.0]", "trl", "beta=0.01").output
    assert "> 0.9999" in out
    assert "99% there: half the prompts after" in out
    assert "No equivalent betas: this mean is too near 1 to tell them apart." in out
    assert "1 prompts have only wrong or only right answers" in out


def test_counts_are_base_rates(tmp_path):
    path = tmp_path / "base.jsonl"
    path.write_text('{"id": "a", "n": 8, "c": 2}\n{"id": "b", "n": 8, "c": 4}\n')
    for option in ("--counts", "--base-rates"):
        done = predict("trl", "beta=0.5", option, str(path), "--json", "-")
        assert [p["base_rate"] for p in json.loads(done.stdout)["prediction"]["prompts"]] == [0.25, 0.5]


def test_without_a_kl_luck_is_that_of_the_trainer_s_advantage(tmp_path):
    def luck(*arguments):
        found = prediction(tmp_path, *arguments, "--step", "0.02", "--answers", "64", rates="[0.3]")
        return found["prompts"][0]["deviation"]

    off = ("trl", "beta=0", "scale_rewards=none")
    assert luck(*off) == pytest.approx(0.150699, abs=1e-6)
    assert luck("trl", "beta=0", "num_generations=2") == pytest.approx(0.1692, abs=1e-4)
    assert luck("trl", "beta=0", "num_generations=64") == pytest.approx(0.2178, abs=1e-4)
    assert luck("openrlhf", "algo.kl.init_coef=0", "algo.advantage.estimator=reinforce",
                "algo.advantage.no_std_norm=true") == pytest.approx(0.28207, abs=1e-5)  # fmt: skip
    # One that is accepted or refused wrongly slows the way, and its answers' noise with it.
    slow = prediction(tmp_path, *off, "--false-negative", "0.5", rates="[0.3]")["prompts"][0]["time"]
    assert slow > 1.5 * prediction(tmp_path, *off, rates="[0.3]")["prompts"][0]["time"]


def test_without_a_kl_nobody_is_promised_the_likeliest_answer(tmp_path):
    out = " ".join(run(tmp_path, "[0.3]", "trl", "beta=0").output.split())
    assert "takes all where one decision makes an answer; where answers share tokens another may" in out
    assert "TRL logs no kl at beta = 0" in out.replace("\u2502", " ").replace("  ", " ")
    assert "starts at 0" in out


def test_a_length_of_training_tells_the_rate_on_the_way(tmp_path):
    options = ("trl", "beta=0.5", "scale_rewards=none", "--step", "0.2")
    short, long = (prediction(tmp_path, *options, "--steps", n, rates="[0.3]") for n in ("10", "100000"))
    ways = [found["prompts"][0] for found in (short, long)]
    assert 0.3 < ways[0]["on_the_way"] < ways[1]["on_the_way"]
    assert ways[1]["on_the_way"] == pytest.approx(ways[1]["validity"], abs=1e-6)


def test_another_learning_rate_scales_the_step(tmp_path):
    options = ("trl", "beta=0.5", "--steps", "20")
    found = [
        prediction(tmp_path, *options, "--step", step, *rate)
        for step, rate in (("0.2", ()), ("0.4", ("--learning-rate", "1e-6", "2e-6")))
    ]
    assert found[0]["prompts"] == found[1]["prompts"]


@pytest.mark.parametrize(
    ("rates", "arguments", "message"),
    [
        ("[", (), "no JSON"),
        ('["a"]', (), "a list of numbers"),
        ("[]", (), "at least one base rate"),
        ("[2.0]", (), "base_rates=2.0"),
        ("[0.5, -3]", ("trl", "beta=0"), "base_rates=-3"),
        ("[0.5, NaN]", ("trl", "beta=0"), "base_rates=nan"),
        ("[1.5]", ("nemo-rl",), "base_rates=1.5"),
        ("[0.5]", ("trl", "beta=0.5", "--json", "absent/found.json"), "does not exist"),
        ("[0.5]", ("trl", "beta=0.5", "--steps", "10"), "need --step"),
        ("[0.5]", ("trl", "beta=0.5", "--learning-rate", "1", "2"), "need --step"),
        ("[0.5]", ("trl", "beta=0.5", "--false-positive", "0.1"), "scale='std' is not allowed"),
        ("[0.5]", ("trll",), "is trl meant?"),
        ("[0.5]", ("Trl", "bata=0.5"), "setting='bata' is not allowed: nothing reads it; is beta meant?"),
        ("[0.5]", ("absent/run.yaml",), "there is no file absent/run.yaml"),
        ("[0.5]", ("trl", "beta", "0.1"), "setting='beta' is not allowed: NAME=VALUE"),
        ("[0.5]", ("trl", "beta=0", "num_generations=8", "--step", "1", "--answers", "9"), "a multiple of"),
        ("[0.5]", ("trl", "beta=0.5", "num_generations=99999999999"), "group_size=99999999999"),
    ],
)
def test_bad_input_is_named(tmp_path, rates, arguments, message):
    done = run(tmp_path, rates, *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output
