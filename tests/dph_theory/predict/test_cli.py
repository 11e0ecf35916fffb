import json

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.predict import configuration_of
from dph_theory.predict.interpretation import READERS

ACTOR = "actor_rollout_ref.actor."
VERL = f"verl {ACTOR}use_kl_loss=true algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8"


def predict(words, *more):
    return CliRunner().invoke(main, ["predict", *words.split(), *map(str, more)])


def run(folder, rates, words):
    """With base rates, if there are any."""
    (folder / "rates.json").write_text(rates)
    return predict(words, *(("--base-rates", folder / "rates.json") if rates else ()))


def first(tmp_path, words, rates="[0.3]"):
    """What is stored of the first prompt."""
    done = run(tmp_path, rates, f"{words} --json -")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["prediction"]["prompts"][0]


def answer(done):
    """What stands before the tables."""
    assert done.exit_code == 0, done.output
    return done.stdout.split("\n\n")[0].splitlines()


def test_the_answer_stands_first_and_says_that_prompts_alone_cannot_lose(tmp_path):
    words = "trl beta=0.5 --step 0.2 --steps 100"
    lines = answer(run(tmp_path, '{"sum": 0.25, "product": 0.1}', words))
    assert lines[0] == "TRL 1.16, coefficient 0.5: reverse KL per token."
    assert lines[1] == "Prompts share weights. If they did not, Pass@k could not fall; measured:"
    assert lines[2].startswith("  SmolLM2-135M, k2 or corrected k3 at 0.3: Pass@256 0.758 -> 0.408 held out")
    rows = [line.split() for line in lines]
    assert ["Pass@1", "0.1750", "0.7094", "0.9344"] in rows
    assert ["Pass@8", "0.7347", "no", "less,", "alone", "no", "less,", "alone"] in rows
    assert any(line.startswith("99% there: half the prompts after 896, all after") for line in lines)
    assert lines[-1].startswith("Next: ")


def test_the_base_s_pass_at_k_is_unbiased_and_a_k_above_n_is_said():
    counts = "--counts examples/counts/base.jsonl"
    for k, passed in ((8, "0.8679"), (32, "0.9938")):
        rows = [line.split() for line in predict(f"trl beta=0 {counts} --k {k}").output.splitlines()]
        assert [row[1] for row in rows if row[:1] == [f"Pass@{k}"]] == [passed]
    assert (
        "Pass@64 needs 64 answers a prompt: the fewest here are 32"
        in predict(f"trl beta=0 {counts} --k 64").output
    )


def test_groups_without_a_signal_are_counted_now_and_in_the_end():
    out = predict("trl beta=0 --counts examples/counts/base.jsonl").output
    assert "Groups of 8 alike, so without a gradient: 25% now, 100% in the end." in out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("trl beta=0", "use_bias_correction_kl: false beta: 1 "),
        ("trl beta=0 --version 0.18", "Pass@1 0.090): beta: 1 "),
        ("trl beta=0.3 use_bias_correction_kl=false", "Pass@256 0.727 of 0.758, Pass@1 0.090): beta: 1 "),
        ("trl beta=0 top_p=0.9", "use_bias_correction_kl: false beta: 1 "),
        ("trl beta=1 use_bias_correction_kl=false", None),
        ("prime-rl", None),
        ("areal", None),
    ],
)
def test_advice_is_what_retained_most_in_the_largest_model_s_runs(words, advice):
    out = " ".join(predict(words).output.split())
    assert ("To retain more (SmolLM2-135M: Pass@256" in out) is (advice is not None)
    assert advice is None or advice in out


def test_what_a_kl_in_the_reward_retains_was_not_measured_and_nothing_is_said_to_retain_more():
    words = "openrlhf algo.advantage.estimator=rloo rollout.n_samples_per_prompt=8 algo.kl.init_coef=0.1"
    out = predict(f"{words} --counts examples/counts/base.jsonl").output
    assert "  With a KL as this one: not measured." in out.splitlines()
    assert "To retain more" not in out


def test_no_number_of_steps_is_told_without_a_step_s_size_and_the_settings_tell_how_many(tmp_path):
    assert "99% there" not in run(tmp_path, "[0.3]", "trl beta=0.5").output
    assert "after 50 steps" in run(tmp_path, "[0.3]", "trl beta=0.5 max_steps=50 --step 0.2").output
    assert (
        "after" not in run(tmp_path, "[0.3]", "trl beta=0.5 max_steps=-1 --step 0.2").output.split("99%")[0]
    )


@pytest.mark.parametrize(
    "words",
    [
        *READERS,
        f"{VERL} algorithm.kl_ctrl.kl_coef=0 {ACTOR}clip_ratio_low=0.2 algorithm.filter_groups.enable=true "
        "made_up_key=1 another_one=2 third_one=3",
        "trl beta=0.04 use_bias_correction_kl=false top_p=0.5 delta=3",
        "areal actor.kl_ctl=0",
        "TRL beta=0 num_generations=4 --step 0.1 --steps 1000",
    ],
)
def test_every_answer_has_at_most_twenty_lines_of_eighty_columns_and_ends_with_the_next_command(
    tmp_path, words
):
    done = run(tmp_path, "[0.25, 0.5]", words)
    lines = done.stdout.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert any("Next: " in line for line in lines[-2:])
    assert max(map(len, run(tmp_path, "[0.25, 0.5]", f"{words} --all").stdout.splitlines())) <= 80


def test_a_file_a_trainer_s_name_and_overrides_say_the_same_and_are_stored_by_their_keys(tmp_path):
    (tmp_path / "run.yaml").write_text("beta: 0.04\nuse_bias_correction_kl: false\n")
    wanted = configuration_of({"beta": 0.04, "use_bias_correction_kl": False}).to_dict()
    for words in ("Trl beta=0.04", f"{tmp_path / 'run.yaml'}"):
        done = predict(f"{words} use_bias_correction_kl=false --json {tmp_path / 'found.json'}")
        assert "forward KL per token" in done.output
        assert json.loads((tmp_path / "found.json").read_text()) == wanted


FORWARD, NONE = "trl beta=0.1 use_bias_correction_kl=false", "No pass rates: "
KEPT = "With a small beta it converges to all correct answers, not in the base's"
LIKELIEST = "takes all where one token makes an answer; where answers share tokens another may"
IN_REWARD = f"algorithm.use_kl_in_reward=true {ACTOR}use_kl_loss=false"


@pytest.mark.parametrize(
    ("rates", "words", "told"),
    [
        ("[0.3]", FORWARD, [KEPT, "To retain correct answers' proportions: use_bias_correction_kl: true "]),
        ("", "trl", ["To retain correct answers' proportions: beta: 0.04 "]),
        ("", "slime", ["proportions: --use-kl-loss --kl-loss-coef 0.001 --kl-loss-type k2 "]),
        # A penalty in the reward is no help where it would be divided along.
        ("", VERL, [f"{IN_REWARD} algorithm.norm_adv_by_std_in_grpo=false "]),
        ("", "trl beta=0.04 temperature=0.7", ["Changed by temperature=0.7: how, with --all."]),
        ("[0.25]", "areal", ["no ref is set"]),
        ("[0.25]", "openrlhf algo.advantage.estimator=reinforce", [NONE + "the KL is std-normalised along"]),
        ("[0.25, 1.0]", "trl beta=0.01", [
            "> 0.9999", "1 prompts had only incorrect or only correct",
            "No equivalent betas: this mean is too near 1 to distinguish them."]),
        ("[0.3]", "trl beta=0", [LIKELIEST, "TRL logs no kl at beta = 0", "starts at 0"]),
    ],
)  # fmt: skip
def test_what_a_user_is_told(tmp_path, rates, words, told):
    out = run(tmp_path, rates, f"{words} --all").output
    assert [each for each in told if each not in " ".join(out.replace("\u2502", " ").split())] == []
    assert ("base now" in out) is (bool(rates) and words.startswith("trl"))


def test_where_nothing_would_keep_more_nothing_is_offered():
    assert "To hold" not in predict("openrlhf algo.advantage.estimator=group_norm").output


def test_counts_are_base_rates(tmp_path):
    path = tmp_path / "base.jsonl"
    path.write_text('{"id": "a", "n": 8, "c": 2}\n{"id": "b", "n": 8, "c": 4}\n')
    for option in ("--counts", "--base-rates"):
        done = predict(f"trl beta=0 {option} {path} --json -")
        assert [p["base_rate"] for p in json.loads(done.stdout)["prediction"]["prompts"]] == [0.25, 0.5]


def test_without_a_kl_luck_is_that_of_the_trainer_s_advantage(tmp_path):
    off, drawn = "trl beta=0 scale_rewards=none", "--step 0.02 --answers 64"
    plain = "openrlhf algo.kl.init_coef=0 algo.advantage.estimator=reinforce algo.advantage.no_std_norm=true"
    for words, deviation in (
        (off, 0.150699),
        ("trl beta=0 num_generations=2", 0.169150),
        ("trl beta=0 num_generations=64", 0.217753),
        (plain, 0.282071),
    ):
        assert first(tmp_path, f"{words} {drawn}")["deviation"] == pytest.approx(deviation, abs=1e-6)
    # One that is accepted or refused wrongly slows the way, and its answers' noise with it.
    slow = first(tmp_path, f"{off} --false-negative 0.5")["time"]
    assert slow > 1.5 * first(tmp_path, off)["time"]


def test_a_length_of_training_tells_the_rate_on_the_way_and_a_learning_rate_scales_the_step(tmp_path):
    words = "trl beta=0.5 scale_rewards=none"
    short, long, scaled = (
        first(tmp_path, f"{words} {training}")
        for training in (
            "--step 0.2 --steps 10",
            "--step 0.2 --steps 100000",
            "--step 0.4 --learning-rate 1e-6 2e-6 --steps 10",
        )
    )
    assert 0.3 < short["on_the_way"] < long["on_the_way"] == pytest.approx(long["validity"], abs=1e-6)
    assert scaled == short


@pytest.mark.parametrize(
    ("rates", "words", "message"),
    [
        ("[", "trl", "no JSON"),
        ('["a"]', "trl", "a list of numbers"),
        ("[]", "trl", "at least one base rate"),
        ("[2.0]", "trl", "base_rates=2.0"),
        ("[0.5, -3]", "trl beta=0", "base_rates=-3"),
        ("[0.5, NaN]", "trl beta=0", "base_rates=nan"),
        ("[1.5]", "nemo-rl", "base_rates=1.5"),
        ("[0.5]", "trl beta=0.5 --json absent/found.json", "does not exist"),
        ("[0.5]", "trl beta=0.5 --steps 10", "need --step"),
        ("[0.5]", "trl beta=0.5 --learning-rate 1 2", "need --step"),
        ("[0.5]", "trl beta=0.5 --false-positive 0.1", "scale='std' is not allowed"),
        ("[0.5]", "trll", "is trl meant?"),
        ('{"beta": 0.1}', "rates.json --trainer none", "trl, verl, slime, openrlhf, nemo-rl"),
        ("[0.5]", "rates.json", "a file of settings"),
        ("[0.5]", "absent/run.yaml", "there is no file absent/run.yaml"),
        ("[0.5]", "trl beta 0.1", "setting='beta' is not allowed: NAME=VALUE"),
        ("[0.5]", "trl beta=0 num_generations=8 --step 1 --answers 9", "a multiple of"),
        ("[0.5]", "trl beta=0.5 num_generations=99999999999", "group_size=99999999999"),
    ],
)
def test_wrong_usage_is_named(tmp_path, monkeypatch, rates, words, message):
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, rates, words)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.replace("\u2502", " ").split())
    assert "Traceback" not in done.output
