import json
import shlex

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


FALL = "Expect held-out Pass@k to fall at large k: nearest stored run, "
UNKNOWN = "Held-out Pass@k at large k is not known: "
ENDS = " on SmolLM2-135M (20 steps): 0.758 to "


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("trl beta=0.04", f"{FALL}corrected k3 at 0.04{ENDS}0.411 (Pass@256)."),
        ("trl beta=0.04 use_bias_correction_kl=false", f"{FALL}k3 at 0.04{ENDS}0.435 (Pass@256)."),
        ("trl beta=0.001", f"{FALL}corrected k3 at 0.04 (yours: 0.001){ENDS}0.411 (Pass@256)."),
        ("trl beta=0.1", f"{FALL}k2 at 0.1 (yours: corrected k3 at 0.1){ENDS}0.394 (Pass@256)."),
        ("trl beta=0", f"{FALL}GRPO without a KL{ENDS}0.392 (Pass@256)."),
        ("trl beta=0 scale_rewards=none", f"{FALL}Dr. GRPO without a KL{ENDS}0.396 (Pass@256)."),
        ("trl beta=2 use_bias_correction_kl=false",
         "Expect held-out Pass@k to be retained at large k: nearest stored run, k3 at 1 (yours: 2)"),
        ("trl beta=0.5 use_bias_correction_kl=false", f"{UNKNOWN}stored runs with smaller and larger"),
        ("trl beta=5", f"{UNKNOWN}this coefficient is larger than any stored run's"),
        ("openrlhf", f"{UNKNOWN}no stored run has a KL like this one (k1 in the reward)."),
        ("verl", f"{UNKNOWN}the advantage is a learned value function"),
        ("trl beta=0.04 scale_rewards=none", f"{UNKNOWN}no stored run has an advantage like this one"),
        (f"{VERL} algorithm.filter_groups.enable=true", f"{UNKNOWN}no stored run has an advantage like"),
        ("trl beta=0.04 kl_estimator=k7", f"{UNKNOWN}it depends on kl_estimator=k7 (not read)."),
    ],
)  # fmt: skip
def test_what_becomes_of_pass_at_k_is_said_first_with_the_nearest_stored_run_and_its_distance(words, first):
    assert " ".join(predict(words).stdout.split()).startswith(first)


@pytest.mark.parametrize("words", [*READERS, "trl beta=0.04", "trl beta=0.04 kl_estimator=k7"])
def test_no_comfort_and_no_empty_answer(words):
    out = " ".join(predict(words).stdout.split())
    comforts = ("converges to", "in the base's proportions", "give the missing values", "To retain correct")
    assert [words for words in comforts if words in out] == []


@pytest.mark.parametrize(
    ("words", "what_stays"),
    [
        ("scale_rewards=none", "TRL 1.16: without a KL, sampling noise decides which correct answer stays."),
        ("num_generations=2", "TRL 1.16: without a KL, sampling noise decides which correct answer stays."),
        ("", "dividing by the std (groups of 8) retains two strategies for different prompts only if "
         "neither solves 1.43 times as many."),
        ("num_generations=64", "(groups of 64) retains two strategies for different prompts only if neither "
         "solves 4 times as many."),
    ],
)  # fmt: skip
def test_without_a_kl_what_stays_depends_on_what_the_advantage_is_divided_by(words, what_stays):
    assert what_stays in " ".join(predict(f"trl beta=0 {words}").stdout.split())


def test_prompts_by_themselves_come_second_and_say_what_they_leave_out(tmp_path):
    words = "trl beta=0.5 --step 0.2 --steps 100"
    lines = answer(run(tmp_path, '{"sum": 0.25, "product": 0.1}', words))
    rows = [line.split() for line in lines]
    assert ["Pass@1", "0.175", "0.709", "0.934"] in rows
    assert ["Pass@8", "0.735", "not", "less", "not", "less"] in rows
    assert "Left out: what training on one prompt does to another, by which Pass@k falls." in lines
    assert any(line.startswith("99% there: half the prompts after 896, all after") for line in lines)


@pytest.mark.parametrize(
    ("words", "next_command"),
    [
        ("trl", "dph transfer --help  # measures your prompts; then add --transfer"),
        ("trl beta=0.04 kl_estimator=k7", "dph predict trl beta=0.04"),
        ("trl kl_coef=0.1", "dph predict trl beta=0.1  # TRL calls it beta"),
        ("verl kl_coef=0.1", "dph predict verl algorithm.kl_ctrl.kl_coef=0.1"),
        ("trl bta=0.04", "dph predict trl beta=0.04"),
    ],
)
def test_the_next_command_stands_last_and_works_as_printed(words, next_command):
    assert predict(words).stdout.splitlines()[-1] == f"Next: {next_command}"
    dph, *arguments = shlex.split(next_command, comments=True)
    assert (dph, CliRunner().invoke(main, arguments).exit_code) == ("dph", 0)


def test_what_was_run_is_not_the_next_command(tmp_path):
    """Where a reason lies in a file that is not at hand, --all names it, and there is no more to see."""
    (tmp_path / "a.yaml").write_text("defaults: [other]\nnum_generations: 8\nscale_rewards: none\nbeta: 0\n")
    for more in ("", " --all"):
        output = predict(f"{tmp_path / 'a.yaml'}{more}").output
        assert output.count("a.yaml --all") == (more == "")


def test_the_base_s_pass_at_k_is_unbiased_and_a_k_above_n_is_said():
    counts = "--counts examples/counts/base.jsonl"
    for k, passed in ((8, "0.868"), (32, "0.994")):
        rows = [line.split() for line in predict(f"trl beta=0 {counts} --k {k}").output.splitlines()]
        assert [row[1] for row in rows if row[:1] == [f"Pass@{k}"]] == [passed]
    refused = predict(f"trl beta=0 {counts} --k 64").output
    assert "Pass@64 needs 64 answers a prompt: the fewest here are 32" in refused


@pytest.mark.parametrize(
    ("words", "gradient"),
    [
        ("trl beta=0", "no gradient"),
        ("trl beta=0.04", "the KL acts alone"),
        (f"{VERL} algorithm.filter_groups.enable=true", "left out"),
    ],
)
def test_groups_of_equal_rewards_are_counted_now_and_in_the_end_and_named_by_gradient(words, gradient):
    out = predict(f"{words} --counts examples/counts/base.jsonl").output
    assert f"Groups of 8 with equal rewards ({gradient}): 0.251 now, 1.000 in the end." in out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("trl beta=0", "GRPO without a KL 0.392 0.618 use_bias_correction_kl=false beta=1 0.727 0.306"),
        ("trl beta=0 --trainer-version 0.18", "GRPO without a KL 0.392 0.618 beta=1 0.727 0.306"),
        ("trl beta=0.3 use_bias_correction_kl=false", "k3 at 0.3 0.648 0.479 beta=1 0.727 0.306"),
        ("trl beta=0 top_p=0.9", "use_bias_correction_kl=false beta=1 0.727 0.306"),
        ("slime", "--use-kl-loss --kl-loss-type k3 --kl-loss-coef 1 0.727 0.306"),
        ("trl beta=1 use_bias_correction_kl=false", None),
        ("prime-rl", None),
        ("areal", None),
    ],
)
def test_advice_is_what_retained_most_in_the_largest_model_s_runs(words, advice):
    out = " ".join(predict(words).output.split())
    assert ("setting held-out Pass@256 trained Pass@1" in out) is (advice is not None)
    assert advice is None or advice in out


def test_what_a_kl_in_the_reward_retains_was_not_measured_and_nothing_is_said_to_retain_more():
    words = "openrlhf algo.advantage.estimator=rloo rollout.n_samples_per_prompt=8 algo.kl.init_coef=0.1"
    out = predict(f"{words} --counts examples/counts/base.jsonl").output
    assert "no stored run has a KL like this one (k1 in the reward)" in " ".join(out.split())
    assert "setting  " not in out


def test_no_number_of_steps_is_told_without_a_step_s_size_and_the_settings_tell_how_many(tmp_path):
    assert "99% there" not in run(tmp_path, "[0.3]", "trl beta=0.5").output
    assert "after 50 steps" in run(tmp_path, "[0.3]", "trl beta=0.5 max_steps=50 --step 0.2").output
    endless = run(tmp_path, "[0.3]", "trl beta=0.5 max_steps=-1 --step 0.2").output
    assert "after" not in endless.split("99%")[0]


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
def test_an_answer_has_few_lines_of_eighty_columns_and_ends_with_the_next_command(tmp_path, words):
    assert len(predict(words).stdout.splitlines()) <= 13
    done = run(tmp_path, "[0.25, 0.5]", words)
    lines = done.stdout.splitlines()
    assert len(lines) <= 17
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1].startswith("Next: dph ")
    details = run(tmp_path, "[0.25, 0.5]", f"{words} --all").stdout.splitlines()
    assert max(len(line) for line in details if not line.startswith("Next: ")) <= 80


def test_a_file_a_trainer_s_name_and_overrides_say_the_same_and_are_stored_by_their_keys(tmp_path):
    (tmp_path / "run.yaml").write_text("beta: 0.04\nuse_bias_correction_kl: false\nnum_generations: 8\n")
    settings = {"beta": 0.04, "use_bias_correction_kl": False}
    wanted = configuration_of(settings, "trl", version="1.16").to_dict()
    nearest = {"model": "SmolLM2-135M", "form": "k3", "strength": 0.04, "steps": 20}
    for words in ("Trl beta=0.04", f"{tmp_path / 'run.yaml'}"):
        done = predict(f"{words} use_bias_correction_kl=false --json {tmp_path / 'found.json'}")
        assert "forward KL per token" in done.output
        stored = json.loads((tmp_path / "found.json").read_text())
        expected = stored.pop("expected")
        assert stored == wanted
        assert expected["course"] == "to fall"
        assert expected["nearest"][0].items() >= nearest.items()


FORWARD, NONE = "trl beta=0.1 use_bias_correction_kl=false", "No pass rates: "
LIKELIEST = "takes all where one token makes an answer; where answers share tokens another may"


@pytest.mark.parametrize(
    ("rates", "words", "told"),
    [
        ("[0.3]", FORWARD, ["only correct answers, not in the"]),
        ("", "trl beta=0.04 temperature=0.7", ["Changed by temperature=0.7: how, with --all."]),
        ("[0.25]", "areal", ["no ref is set"]),
        ("[0.25]", "openrlhf algo.advantage.estimator=reinforce", [NONE + "the KL is std-normalised along"]),
        ("[0.25, 1.0]", "trl beta=0.01", [
            "> 0.999", "1 prompts had only incorrect or only correct"]),
        ("[0.3]", "trl beta=0", [LIKELIEST, "TRL logs no kl at beta = 0", "starts at 0"]),
    ],
)  # fmt: skip
def test_what_a_user_is_told(tmp_path, rates, words, told):
    out = run(tmp_path, rates, f"{words} --all").output
    assert [each for each in told if each not in " ".join(out.replace("\u2502", " ").split())] == []
    assert ("base now" in out) is (bool(rates) and words.startswith("trl"))


def test_counts_are_base_rates_and_a_log_is_read_by_the_options_of_compare(tmp_path):
    path, log = tmp_path / "base.jsonl", tmp_path / "log.jsonl"
    path.write_text('{"id": "a", "n": 8, "c": 2}\n{"id": "b", "n": 8, "c": 4}\n')
    log.write_text(
        '{"task": "a", "solved": [true, false, false, false]}\n{"task": "b", "solved": [true, false]}\n'
    )
    refused = predict(f"trl beta=0 --counts {log}")
    assert "add --id task" in " ".join(refused.output.split())
    for counts in (path, f"{log} --id task"):
        done = predict(f"trl beta=0 --counts {counts} --json -")
        assert [p["base_rate"] for p in json.loads(done.stdout)["prediction"]["prompts"]] == [0.25, 0.5]
    for command in ("predict", "compare"):
        options = CliRunner().invoke(main, [command, "--help"]).output
        assert all(f" {option}" in options for option in ("--id", "--correct", "--unscored"))


def test_a_verifier_that_errs_slows_the_way(tmp_path):
    off = "trl beta=0 scale_rewards=none"
    slow = first(tmp_path, f"{off} --false-negative 0.5")["time"]
    assert slow > 1.5 * first(tmp_path, off)["time"]


def test_a_length_of_training_tells_the_rate_on_the_way_and_a_learning_rate_scales_the_step(tmp_path):
    words = "trl beta=0.5 scale_rewards=none"
    short = first(tmp_path, f"{words} --step 0.2 --steps 10")
    long = first(tmp_path, f"{words} --step 0.2 --steps 100000")
    scaled = first(tmp_path, f"{words} --step 0.4 --learning-rate 1e-6 2e-6 --steps 10")
    assert 0.3 < short["on_the_way"] < long["on_the_way"] == pytest.approx(long["pass_rate"], abs=1e-6)
    assert scaled == short


def test_why_nothing_is_known_is_said_once(tmp_path):
    out = " ".join(run(tmp_path, "[0.3]", "nemo-rl").output.split())
    assert out.count("divided by their std: no objective is known") == 1


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
        ("[0.5]", "trl beta=0.5 num_generations=99999999999", "group_size=99999999999"),
    ],
)
def test_wrong_usage_is_named(tmp_path, monkeypatch, rates, words, message):
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, rates, words)
    assert done.exit_code == 2, done.output
    assert message in " ".join(done.output.replace("\u2502", " ").split())
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ("beta: 0.04\n", "Expect held-out Pass@k to fall at large k"),
        ("beta: 0.04\nimportance_sampling_level: sequence\n", "Held-out Pass@k at large k is not known"),
    ],
)
def test_where_all_versions_lead_to_one_answer_it_is_given(tmp_path, settings, answer):
    path = tmp_path / "grpo.yaml"
    path.write_text(f"{settings}num_generations: 8\nloss_type: dapo\n")
    done = predict(str(path))
    assert done.output.startswith(answer)
    words = " ".join(done.output.split())
    assert "the version: forward KL per token at 0.04 before TRL 1.10" in words
    assert words.endswith("--trainer-version 1.10 # or yours")
    assert done.exit_code == 1
