import json

import pytest
from click.testing import CliRunner

from dph_theory.audit.cli import audit_command

MINE = """
def centred(rewards):
    return rewards - rewards.mean(dim=-1, keepdim=True)

def broken(rewards):
    return rewards.sum()

def bootstrap(n, c, k):
    return 1 - (1 - c / n) ** k

def of_one(n):
    return n
"""


@pytest.fixture
def dph(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)

    def run(name, *options):
        return CliRunner().invoke(audit_command, [f"{tmp_path / 'mine.py'}:{name}", *map(str, options)])

    return run


def test_an_advantage_of_a_file(dph, tmp_path):
    done = dph("centred", "--advantage", "--group-size", 4, "--json", tmp_path / "x.json")
    assert done.exit_code == 0, done.output
    assert done.output.startswith(
        "centred at G = 4: maximises 0.75 V; its weight on grad V is 0.75 at every V"
    )
    assert "weight, G = 8" in done.output
    assert json.loads((tmp_path / "x.json").read_text())["group_size"] == 4


def test_a_metric_of_a_file(dph, tmp_path):
    done = dph("bootstrap", "--metric", "--json", tmp_path / "x.json")
    assert done.exit_code == 0, done.output
    assert "it is pass@k of answers drawn with replacement" in done.output
    assert json.loads((tmp_path / "x.json").read_text())["example"] == pytest.approx(0.684, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("broken", "--advantage"), 1, "could not be audited: it returned ()"),
        (("of_one", "--metric"), 1, "could not be audited: it takes (n)"),
        (("centred", "--group-size", 4), 2, "--group-size goes with --advantage"),
        (("bootstrap", "--metric", "--advantage"), 2, "--metric with a function of yours alone"),
    ],
)
def test_what_fails_and_wrong_usage(dph, options, code, words):
    done = dph(*options)
    assert done.exit_code == code
    assert words in done.output
