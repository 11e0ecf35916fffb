import json

import pytest
from click.testing import CliRunner

from dph_theory.predict.cli import predict_command


def run(tmp_path, rates, *options):
    path = tmp_path / "rates.json"
    path.write_text(rates)
    arguments = [
        "--trainer",
        "trl",
        "--beta",
        "0.5",
        "--group-size",
        "8",
        "--base-rates",
        str(path),
        *options,
    ]
    return CliRunner().invoke(predict_command, arguments)


def test_prints_the_law_the_rates_and_the_limit(tmp_path):
    done = run(tmp_path, '{"sum": 0.25, "product": 0.1}')
    assert done.exit_code == 0, done.output
    for words in ("reverse KL of each token", "sum", "0.9755", "still become a right answer"):
        assert words in done.output


def test_a_list_of_rates_and_json(tmp_path):
    target = tmp_path / "found.json"
    done = run(tmp_path, "[0.25]", "--version", "1.9", "--scale", "none", "--json", str(target))
    assert done.exit_code == 0, done.output
    found = json.loads(target.read_text())
    assert found["form"]["form"] == "k3"
    assert found["scale"] == "none"
    assert found["prompts"][0]["base_rate"] == 0.25


def test_json_on_standard_output_stands_there_alone(tmp_path):
    done = run(tmp_path, "[0.25]", "--json", "-")
    assert json.loads(done.stdout)["prompts"][0]["base_rate"] == 0.25
    assert "With a small beta" in done.stderr


def test_near_one_no_table_is_empty_and_no_rate_is_one(tmp_path):
    out = run(tmp_path, "[0.25, 1.0]", "--beta", "0.01").output
    assert "> 0.9999" in out
    assert "No beta of another setting is told" in out
    assert "beta for the same mean" not in out


@pytest.mark.parametrize(
    ("rates", "options", "message"),
    [
        ("[", (), "no JSON"),
        ('["a"]', (), "a list of numbers"),
        ("[2.0]", (), "base_rates=2.0"),
        ("[0.5]", ("--form", "reward"), "form='reward'"),
        ("[0.5]", ("--json", "absent/found.json"), "does not exist"),
    ],
)
def test_bad_input_is_named(tmp_path, rates, options, message):
    done = run(tmp_path, rates, *options)
    assert done.exit_code == 2
    assert message in done.output


def test_without_a_kl_there_is_a_drift_and_no_end(tmp_path):
    target = tmp_path / "found.json"
    out = run(tmp_path, "[0.1, 0.3, 0.95]", "--beta", "0", "--step", "0.02", "--json", str(target)).output
    assert "no law to end at" in out
    assert "0.5361" in out
    assert "too large" in out
    deviation = json.loads(target.read_text())["deviation"]
    assert deviation["prompt 2"] == pytest.approx({"none": 0.28207, "mean": 0.150699, "one": 0.0}, abs=1e-5)
    assert "prompt 3" not in deviation
    assert "Give --step" in run(tmp_path, "[0.3]", "--beta", "0").output


def test_a_length_of_training_tells_the_rate_on_the_way(tmp_path):
    options = ["--scale", "none", "--step", "0.2", "--answers", "64"]
    short = run(tmp_path, "[0.3]", *options, "--steps", "10", "--json", str(tmp_path / "short.json"))
    long = run(tmp_path, "[0.3]", *options, "--steps", "100000", "--json", str(tmp_path / "long.json"))
    assert "after the steps" in short.output
    ways = [json.loads((tmp_path / f"{name}.json").read_text())["prompts"][0] for name in ("short", "long")]
    assert 0.3 < ways[0]["on_the_way"] < ways[1]["on_the_way"]
    assert ways[1]["on_the_way"] == pytest.approx(ways[1]["validity"], abs=1e-6)
    assert long.exit_code == 0


def test_another_learning_rate_scales_the_step(tmp_path):
    found = [
        run(tmp_path, "[0.3]", "--steps", "20", "--step", step, *rate, "--json", "-")
        for step, rate in (("0.2", ()), ("0.4", ("--learning-rate", "1e-6", "2e-6")))
    ]
    assert json.loads(found[0].stdout)["prompts"] == json.loads(found[1].stdout)["prompts"]


def test_without_a_kl_the_path_and_one_baseline_are_told(tmp_path):
    options = ["--beta", "0", "--step", "0.02", "--steps", "1000", "--baseline", "one"]
    done = run(tmp_path, "[0.3]", *options, "--per-answer-mean", "--updates", "4")
    for words in ("no law to end at", "baseline one", "theory G7", "theory G8"):
        assert words in done.output
    assert "baseline mean" not in done.output


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--steps", "10"], "need --step"),
        (["--learning-rate", "1", "2"], "need --step"),
        (["--baseline", "one"], "--baseline"),
    ],
)
def test_options_that_lack_others_are_named(tmp_path, options, named):
    done = run(tmp_path, "[0.3]", *options)
    assert done.exit_code == 2
    assert named in done.output


def test_a_group_beyond_what_is_computed_is_refused_at_once(tmp_path):
    done = run(tmp_path, "[0.25]", "--group-size", "99999999999")
    assert done.exit_code == 2
    assert "99999999999 is not in the range" in done.output
