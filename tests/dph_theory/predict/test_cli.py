"""`dph predict` as a user sees it: the answer first, its evidence, and one next command that works."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.shown_text import assert_shown_alike

from dph_cli import main
from dph_theory.predict import configuration_of
from dph_theory.predict.reading import tables
from dph_theory.support.record import record

ANSWERS = Path(__file__).parent / "answers"
ACTOR = "actor_rollout_ref.actor."
VERL = f"verl {ACTOR}use_kl_loss=true algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8"
PLAIN, K3 = "use_bias_correction_kl=false", "(k3, coefficient 0.001"
COUNTS = "--counts examples/counts/base.jsonl"
TINY = "full_scale/recipe/recipes/tiny-sql.yaml"


def predict(words, *more):
    return CliRunner().invoke(main, ["predict", *words.split(), *map(str, more)])


def in_line(done):
    """The output without its line breaks."""
    return " ".join(done.output.replace("\u2502", " ").split())


def run(folder, rates, words):
    """With base rates, if there are any."""
    (folder / "rates.json").write_text(rates)
    return predict(words, *(("--base-rates", folder / "rates.json") if rates else ()))


def first(tmp_path, words, rates="[0.3]"):
    """The first prompt as it is stored."""
    done = run(tmp_path, rates, f"{words} --json -")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["prediction"]["prompts"][0]


FALL = "Held-out Pass@k will probably fall at large k. In the closest measured run "
UNKNOWN = "Whether held-out Pass@k falls at large k is not known: "
ENDS = ", SmolLM2-135M, last digits of products, 20 steps) Pass@256 went from 0.758 to "
ON_SQL = ", a small Llama, SQL queries, 640 steps) Pass@32 went from 0.992 to 0."
SQL = f" without a KL{ON_SQL}"
NEWEST = FALL.replace("In the", "Before 1.10 that is not known. In the")
NOT_YOURS = " Those numbers are that run's, not yours."


@pytest.mark.parametrize(
    ("words", "opening"),
    [
        ("trl beta=0.04", f"{NEWEST}(k3 with importance weight, coefficient 0.04{ENDS}0.411.{NOT_YOURS} TRL"),
        (f"trl beta=0.04 {PLAIN}", f"{UNKNOWN}measured runs differ by task (SmolLM2-135M, last digits of "
         "products: Pass@256 went from 0.758 to 0.435). In the closest measured run (k3, coefficient "
         f"0.04{ON_SQL}"),
        ("trl beta=0.001", f"{FALL}(k3 with importance weight, coefficient 0.04{ENDS}0.411.{NOT_YOURS} "
         "Your settings differ: k3 with importance weight at 0.001."),
        ("trl beta=0", f"{FALL}(GRPO{SQL}"),
        ("trl beta=0 scale_rewards=none", f"{FALL}(Dr. GRPO{SQL}"),
        (f"{TINY} method.name=DPH-MaxRL", "Held-out Pass@k will probably be retained at large k."),
        (f"{TINY} method.name=DPH-F", f"{UNKNOWN}measured runs differ by task (SmolLM2-135M, last digits of "
         "products: Pass@256 went from 0.758 to 0.406)."),
        (f"trl beta=2 {PLAIN}", "Held-out Pass@k will probably be retained at large k. In the "
         f"closest measured run (k3, coefficient 0.3{ON_SQL}"),
        (f"trl beta=0.02 {PLAIN}", f"{UNKNOWN}measured runs with smaller and larger"),
        ("trl beta=5", f"{UNKNOWN}this coefficient is larger than any measured run's"),
        ("slime", f"{UNKNOWN}the advantage is zero: a group of one has no advantage."),
        (f"{VERL} {ACTOR}kl_loss_coef=much", f"{UNKNOWN}it depends on the coefficient much."),
    ],
)  # fmt: skip
def test_the_course_of_pass_at_k_is_said_first_with_the_closest_measured_run(words, opening):
    assert in_line(predict(words)).startswith(opening)


@pytest.mark.parametrize(
    ("words", "run", "difference"),
    [
        ("trl beta=0 scale_rewards=batch", "(GRPO without a KL", "divided by the whole batch's std"),
        (f"{VERL} algorithm.filter_groups.enable=true", K3, "groups of equal rewards are left out"),
        (f"{VERL} {ACTOR}entropy_coeff=0.01", K3, "entropy bonus 0.01"),
        ("openrlhf algo.kl.init_coef=0.01 algo.advantage.estimator=dr_grpo rollout.n_samples_per_prompt=8",
         "(k3 with importance weight, coefficient 0.04", "k1 in the reward at 0.01"),
        (f"{VERL} reward_model.overlong_buffer.enable=true", K3, "overlong_buffer.enable=true"),
        ("nemo-rl loss_fn.reference_policy_kl_type=k2 loss_fn.reference_policy_kl_penalty=0.001",
         "(GRPO without a KL", "at 0.001"),
    ],
)  # fmt: skip
def test_settings_that_people_run_have_a_direction_and_the_difference_to_the_measured_run(
    words, run, difference
):
    answer = in_line(predict(words))
    assert answer.startswith(f"{FALL}{run}")
    assert difference in answer.partition("Your settings differ: ")[2].partition(" Advantage: ")[0]


@pytest.mark.parametrize(
    ("words", "strategies"),
    [
        (
            "prime-rl orchestrator.algo.type=max_rl orchestrator.group_size=8",
            "a mixture of strategies survives",
        ),
        ("trl beta=0 scale_rewards=none", "one strategy survives"),
        ("trl beta=0.04 scale_rewards=none", ""),
        ("trl beta=0", ""),
    ],
)
def test_without_a_kl_the_divisor_of_the_advantage_decides_how_many_strategies_stay(words, strategies):
    answer = in_line(predict(words))
    assert strategies in answer
    assert ("Shared strategies: " in answer) is bool(strategies)
    assert "solves" not in answer


def test_prompts_by_themselves_say_that_interference_is_not_included(tmp_path):
    done = run(tmp_path, '{"sum": 0.25, "product": 0.1}', "trl beta=0.5")
    rows = [line.split() for line in done.output.splitlines()]
    assert ["Pass@1", "0.175", "0.934"] in rows
    assert ["Pass@8", "0.735", "not", "less"] in rows
    assert "Interference between prompts, the usual cause of a falling Pass@k, is not included." in in_line(
        done
    )


COMMANDS = [
    ("trl beta=0", "dph predict trl use_bias_correction_kl=false beta=0.3"),
    ("trl bta=0.04", "dph predict trl beta=0.04"),
    (f"trl beta=1 {PLAIN}", "dph transfer --help  # measures your prompts; then add --transfer"),
    (f"{VERL} {ACTOR}kl_loss_coeff=0.1", f"dph predict {VERL} {ACTOR}kl_loss_coef=0.1"),
    (f"trl beta=0 {COUNTS}", "dph predict trl use_bias_correction_kl=false beta=0.3"),
    ("slime n-samples-per-prompt=8",
     "dph predict slime n-samples-per-prompt=8 use-kl-loss=true kl-loss-type=k3 kl-loss-coef=0.3"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "command"), COMMANDS)
def test_the_next_command_stands_last_and_works_as_printed(words, command):
    assert predict(words).stdout.splitlines()[-1] == f"Next: {command}"


@pytest.mark.parametrize(
    "words", [*(words for words, _ in COMMANDS), *tables(), f"skyrl trainer.x=1 {COUNTS}"]
)
def test_every_next_command_has_options_that_the_command_takes(words):
    next_command = predict(words).stdout.splitlines()[-1].removeprefix("Next: ")
    dph, *arguments = shlex.split(next_command, comments=True)
    done = CliRunner().invoke(main, arguments)
    assert (dph, done.exit_code) == ("dph", 0), done.output
    assert "resolve" not in predict(words).output


def test_a_doubt_is_decided_by_the_next_command_with_the_user_s_own_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my run.sh").write_text(
        f"python3 -m verl.trainer.main_ppo {VERL.partition(' ')[2]} {ACTOR}kl_loss_coef=$KL\n"
    )
    done = CliRunner().invoke(main, ["predict", "my run.sh"])
    assert f"{ACTOR}kl_loss_coef=0.001  # or your value" in done.output.splitlines()[-1]
    decided = shlex.split(done.output.splitlines()[-1].removeprefix("Next: dph "), comments=True)
    assert decided[1] == "my run.sh"
    assert CliRunner().invoke(main, decided).output.startswith("Held-out Pass@k will probably fall")


def test_the_base_s_pass_at_k_is_unbiased_and_a_k_above_n_is_said():
    for k, passed in ((8, "0.868"), (32, "0.994")):
        rows = [line.split() for line in predict(f"trl beta=0 {COUNTS} --k {k}").output.splitlines()]
        assert [row[1] for row in rows if row[:1] == [f"Pass@{k}"]] == [passed]
    refused = predict(f"trl beta=0 {COUNTS} --k 64").output
    assert "Pass@64 needs 64 answers a prompt: the fewest here are 32" in refused


@pytest.mark.parametrize(
    ("words", "gradient"),
    [
        ("trl beta=0", "no gradient"),
        ("trl beta=0.04", "the KL acts alone"),
        (f"{VERL} algorithm.filter_groups.enable=true", "left out"),
        ("verl algorithm.adv_estimator=reinforce_plus_plus actor_rollout_ref.rollout.n=8",
         "with a gradient: their mean is not subtracted"),
    ],
)  # fmt: skip
def test_groups_of_equal_rewards_are_counted_and_named_by_their_gradient(words, gradient):
    out = predict(f"{words} {COUNTS}").output
    assert f"Groups of 8 with equal rewards ({gradient}): 0.251 now, 1.000 in the end." in in_line_of(out)


def in_line_of(text):
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("trl beta=0 --trainer-version 0.18", "GRPO without a KL 0.627 0.550 beta=0.3 0.99"),
        ("trl beta=0.3 use_bias_correction_kl=false", "k3, coefficient 0.3 0.648 0.479 beta=1 0.727 0.306"),
        ("slime n-samples-per-prompt=8", "--use-kl-loss=true --kl-loss-type=k3 --kl-loss-coef=0.3 0.99"),
        ("trl beta=1 use_bias_correction_kl=false", None),
        ("prime-rl orchestrator.group_size=8", None),
        ("areal", None),
    ],
)
def test_advice_is_the_settings_that_retained_most_in_measured_runs(words, advice):
    out = in_line(predict(words))
    assert ("What retained more (" in out) is (advice is not None)
    assert advice is None or advice in out


@pytest.mark.parametrize(
    "words",
    [
        *tables(),
        f"{VERL} algorithm.kl_ctrl.kl_coef=0 {ACTOR}clip_ratio_low=0.2 algorithm.filter_groups.enable=true "
        "algorithm.use_pf_ppo=true my_sft_loss=1 another_reward=2 third_one=3",
        "trl beta=0.04 use_bias_correction_kl=false top_p=0.5 delta=3",
        "TRL beta=0 num_generations=4",
        *(str(path) for path in sorted(ANSWERS.glob("*.*")) if path.suffix != ".txt"),
    ],
)
def test_an_answer_has_at_most_twenty_lines_of_eighty_columns(tmp_path, words):
    for lines in (predict(words).stdout.splitlines(),
                  run(tmp_path, "[0.25, 0.5]", words).stdout.splitlines()):  # fmt: skip
        assert len(lines) <= 20
        assert not lines or max(map(len, lines[:-1])) <= 80
        assert not lines or lines[-1].startswith("Next: dph ")
    details = run(tmp_path, "[0.25, 0.5]", f"{words} --all").stdout.splitlines()
    assert max(len(line) for line in details if not line.startswith("Next: ")) <= 80


@pytest.mark.parametrize("name", sorted(path.name for path in ANSWERS.glob("*.*") if path.suffix != ".txt"))
def test_the_answers_of_typical_files_are_the_stored_ones(name, monkeypatch):
    monkeypatch.chdir(ANSWERS)
    shown, stored = predict(name).output, ANSWERS / f"{name}.txt"
    if os.environ.get("UPDATE_TRANSCRIPTS"):
        stored.write_text(f"$ dph predict {name}\n{shown}")
    assert_shown_alike(f"$ dph predict {name}\n{shown}", stored.read_text(), "UPDATE_TRANSCRIPTS=1 renews it")


def test_a_file_a_trainer_s_name_and_overrides_say_the_same_and_are_stored_by_their_keys(tmp_path):
    (tmp_path / "run.yaml").write_text("beta: 0.04\nuse_bias_correction_kl: false\nnum_generations: 8\n")
    settings = {"beta": 0.04, "use_bias_correction_kl": False}
    wanted = configuration_of(settings, "trl").to_dict()
    for words in ("Trl beta=0.04", f"{tmp_path / 'run.yaml'}"):
        done = predict(f"{words} use_bias_correction_kl=false --json {tmp_path / 'found.json'}")
        assert "forward KL per token" in done.output
        stored = json.loads((tmp_path / "found.json").read_text())
        expected = stored.pop("expected")
        assert {name for name in wanted if json.loads(json.dumps(wanted[name])) != stored[name]} <= {"read"}
        assert (expected["course"], expected["reason"][:23]) == ("", "measured runs differ by")
        nearest = {"task": "SQL queries", "form": "k3", "strength": 0.04, "steps": 640}
        assert expected["nearest"].items() >= nearest.items()


def test_an_override_stands_in_place_of_what_a_file_gives(tmp_path):
    (tmp_path / "a.py").write_text(
        "from trl import GRPOConfig\nGRPOConfig(beta=args.beta, num_generations=8)\n"
    )
    out = predict(f"{tmp_path / 'a.py'} beta=0.1").output
    assert "coefficient 0.1" in out
    assert "Not certain" not in out


@pytest.mark.parametrize(
    ("rates", "words", "answer"),
    [
        ("[0.3]", "trl beta=0.04 top_p=0.9", "No pass rates of single prompts: not known is top_p 0.9"),
        (
            "[0.25]",
            "areal",
            "not known is log pi alone in the reward, an entropy bonus, since no ref is set.",
        ),
        (
            "[0.25]",
            "nemo-rl",
            "not known is the advantage is the mean of the group's other answers subtracted",
        ),
        ("", "trl beta=0.04 temperature=0.7", "sampled at temperature 0.7"),
        ("[0.25, 1.0]", "trl beta=0.01", "> 0.999"),
    ],
)
def test_where_no_pass_rates_are_known_the_smallest_part_is_named(tmp_path, rates, words, answer):
    assert answer in in_line(run(tmp_path, rates, words))


def test_counts_are_base_rates_and_a_log_is_read_by_the_options_of_compare(tmp_path):
    path, log = tmp_path / "base.jsonl", tmp_path / "log.jsonl"
    path.write_text('{"id": "a", "n": 8, "c": 2}\n{"id": "b", "n": 8, "c": 4}\n')
    log.write_text(
        '{"task": "a", "solved": [true, false, false, false]}\n{"task": "b", "solved": [true, false]}\n'
    )
    assert "--id COLUMN" in in_line(predict(f"trl beta=0 --counts {log}"))
    for counts in (path, f"{log} --id task"):
        done = predict(f"trl beta=0 --counts {counts} --json -")
        assert [p["base_rate"] for p in json.loads(done.stdout)["prediction"]["prompts"]] == [0.25, 0.5]
    for command in ("predict", "compare"):
        options = CliRunner().invoke(main, [command, "--help"]).output
        assert all(f" {option}" in options for option in ("--id", "--correct", "--unscored"))


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
        ("[0.5]", "trl beta=0.5 --steps 10", "--steps needs --transfer"),
        ("[0.5]", "trl beta=0.5 --false-positive 0.1", "scale='std' is not allowed"),
        ("[0.5]", "trll", "is trl meant?"),
        ('{"beta": 0.1}', "rates.json --trainer none", "trl, "),
        ("[0.5]", "rates.json", "no trainer known here"),
        ("[0.5]", "absent/run.yaml", "there is no such file"),
        ("[0.5]", "trl beta 0.1", "setting='beta' is not allowed: NAME=VALUE"),
        ("[0.5]", "trl beta=0.5 num_generations=99999999999", "group_size=99999999999"),
    ],
)
def test_wrong_usage_is_named(tmp_path, monkeypatch, rates, words, message):
    monkeypatch.chdir(tmp_path)
    done = run(tmp_path, rates, words)
    assert done.exit_code == 2, done.output
    assert message in in_line(done)
    assert "Traceback" not in done.output


def test_two_versions_with_one_course_share_an_answer_and_others_are_named(tmp_path):
    (tmp_path / "run.yaml").write_text("num_generations: 8\nscale_rewards: none\nbeta: 0.04\n")
    done = predict(str(tmp_path / "run.yaml"))
    assert done.output.startswith("Held-out Pass@k will probably fall")
    assert "Before 1.10: k3 in the loss, coefficient 0.04: forward KL per token." in in_line(done)
    (tmp_path / "run.yaml").write_text("num_generations: 8\nscale_rewards: group\nbeta: 1\n")
    done = predict(str(tmp_path / "run.yaml"))
    assert in_line(done).startswith(
        "Held-out Pass@k will probably fall at large k. Before 1.10 it will probably be retained."
    )


def test_a_recipe_with_the_counts_of_a_run_of_several_sets_asks_for_the_set(tmp_path):
    prompt = {"id": "q1", "correct": [1, 0, 1, 1], "styles": ["a", "b", None, "a"]}
    prompt |= {"log_pi": [-1.0] * 4, "log_ref": [-2.0] * 4}
    results = {"sets": {name: {"prompts": [prompt]} for name in ("train", "test")}}
    stored = record("full_scale.evaluation", seed=0, config={}, results=results, findings=[])
    (tmp_path / "evaluation.json").write_text(json.dumps(stored))
    (tmp_path / "own.yaml").write_text("extends: tiny-sql.yaml\nmethod: {name: GRPO-KL}\n")
    words = f"{tmp_path / 'own.yaml'} --counts {tmp_path / 'evaluation.json'}"
    asked = in_line(predict(words))
    assert "add --set, one of train, test" in asked
    assert "None" not in asked
    done = predict(f"{words} --set test")
    assert done.exit_code == 0, done.output
    assert ["Pass@1", "0.750"] in [line.split()[:2] for line in done.output.splitlines()]


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        ("trl beta=0", ["GRPO", "MaxRL", "DPH-JS", "DPH-F", "DPH-MaxRL"]),
        ("trl beta=0 scale_rewards=none", ["Dr. GRPO", "MaxRL", "DPH-JS", "DPH-F", "DPH-MaxRL"]),
        (f"{TINY} method.name=MaxRL", ["MaxRL", "DPH-JS", "DPH-F", "DPH-MaxRL"]),
        (f"{TINY} method.name=DPH-MaxRL", []),
    ],
)
def test_methods_that_retained_more_on_sql_are_named_in_their_order(words, methods):
    answer = in_line(predict(words)).partition("ended at ")[2].partition(", all at Pass@1")[0]
    rates = [float(part.split(" with ")[0]) for part in answer.split(", ") if part]
    assert re.findall(r"with ([^,]+)", answer) == methods
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("words", "page"),
    [(VERL, "verl: examples/verl_policy_loss.py"), ("slime", "TRL: examples/dph_on_trl.py")],
)
def test_the_page_to_copy_is_the_trainer_s(words, page):
    assert f"0.992). In {page}." in in_line(predict(words))


def test_a_setting_that_changes_the_loss_does_not_stand_in_place_of_the_kl():
    answer = in_line(predict("trl beta=0 reward_weights=2"))
    assert "TRL 1.16: no KL to the base." in answer
    assert "converges to" not in answer
    assert "Changes this answer: reward_weights=2" in answer
