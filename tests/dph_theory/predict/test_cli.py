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
    for words in ("reverse KL of each token", "sum", "0.9755", "selects the locally filtered model"):
        assert words in done.output


def test_a_list_of_rates_and_json(tmp_path):
    target = tmp_path / "found.json"
    done = run(tmp_path, "[0.25]", "--version", "1.9", "--scale", "none", "--json", str(target))
    assert done.exit_code == 0, done.output
    found = json.loads(target.read_text())
    assert found["form"]["form"] == "k3"
    assert found["scale"] == "none"
    assert found["prompts"][0]["base_rate"] == 0.25


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
