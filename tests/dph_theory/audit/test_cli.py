import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from dph_cli import main
from dph_theory.audit.cli import say
from dph_theory.support import terminal

DPH = Path(sys.executable).with_name("dph")
LOSSES = """
import torch
from helper import twice

SCALE = 2.0

def k3(log_pi, log_ref, mask):
    x = log_ref - log_pi
    return ((x.exp() - 1 - x) * mask).sum() / mask.sum()

def scaled(log_pi, log_ref):
    return twice((log_pi - log_ref) ** 2 / 2).mean()

def unreduced(log_pi, log_ref):
    return [log_pi - log_ref]

def needs_logits(log_pi, logits):
    return log_pi.mean()

def leaves(log_pi):
    raise SystemExit("done")
"""


@pytest.fixture
def losses(tmp_path):
    (tmp_path / "helper.py").write_text("def twice(x):\n    return 2 * x\n")
    path = tmp_path / "my_losses.py"
    path.write_text(LOSSES)
    return path


def test_a_file_s_loss_is_audited_and_the_verdict_comes_first(losses, tmp_path):
    out = tmp_path / "k3.json"
    done = CliRunner().invoke(main, ["audit", "loss", f"{losses}:k3", "--json", str(out)])
    assert done.exit_code == 0, done.stderr
    output = " ".join(done.stdout.split())
    assert output.startswith(
        "k3 on policy samples: It has the gradient of the forward KL(ref||pi) of each token"
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    for row in ("gradient", "overflow"):
        assert row in done.stdout
    assert "dead zones" not in done.stdout
    report = json.loads(out.read_text())
    assert output.startswith(report["verdict"])
    assert report["gradient"]["name"] == "forward KL(ref||pi)"


def test_a_loss_that_cannot_be_evaluated_is_one(losses):
    done = CliRunner().invoke(main, ["audit", "loss", f"{losses}:unreduced"])
    assert done.exit_code == 1
    assert "could not be audited: it returned list, not a scalar tensor" in " ".join(done.stdout.split())
    assert "finite wherever" not in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'FILE.py:function'"),
        (("my_losses.py",), "the colon is missing"),
        (("my_losses.py:",), "as FILE.py:function"),
        (("absent.py:k3",), "there is no file absent.py"),
        (("my_losses.py:k4",), "found in it: k3, scaled, unreduced, needs_logits, leaves"),
        (("my_losses.py:SCALE",), "has no callable 'SCALE'"),
        (("my_losses.py:needs_logits",), "loss parameter='logits' is not allowed"),
        (("broken.py:k3",), "could not be imported: ZeroDivisionError"),
        (("leaving.py:k3",), "could not be imported: it called sys.exit(3)"),
        (("my_losses.py:leaves",), "it called sys.exit('done')"),
        (("notes.txt:k3",), "must end in .py"),
        (("my_losses.py:k3", "--samples", "teacher"), "'policy', 'old_policy', 'reference', 'filtered'"),
        (("my_losses.py:k3", "--seed", "-1"), "--seed"),
        (("my_losses.py:k3", "--json", "missing/x.json"), "does not exist"),
        (("my_losses.py:k3", "--group-size", "4"), "No such option"),
    ],
)
def test_wrong_usage_is_two_and_says_what_is_allowed(arguments, message, losses, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "leaving.py").write_text("import sys; sys.exit(3)\n")
    (tmp_path / "notes.txt").write_text("no code\n")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["audit", "loss", *arguments])
    assert done.exit_code == 2, done.stdout
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_file_of_findings_needs_a_trainer(tmp_path):
    done = CliRunner().invoke(main, ["audit", "catalogue", "--json", str(tmp_path / "x.json")])
    assert (done.exit_code, "no TRAINER is given" in done.stderr) == (2, True)


def test_without_torch_it_says_what_to_install(tmp_path, losses):
    (tmp_path / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [DPH, "audit", "loss", f"{losses}:k3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert 'pip install -e ".[toy]"' in done.stderr
    assert "Traceback" not in done.stderr


MINE = """
def centred(rewards):
    return rewards - rewards.mean(dim=-1, keepdim=True)

def broken(rewards):
    return rewards.sum()

def bootstrap(n, c, k):
    return 1 - (1 - c / n) ** k

def of_one(n):
    return n

def interrupted(n, c, k):
    raise KeyboardInterrupt
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)

    def run(kind, name, *options):
        words = ["audit", kind, f"{tmp_path / 'mine.py'}:{name}", *map(str, options)]
        return CliRunner().invoke(main, words)

    return run


def test_an_advantage_of_a_file(mine, tmp_path):
    done = mine("advantage", "centred", "--group-size", 4, "--json", tmp_path / "x.json")
    assert done.exit_code == 0, done.output
    assert " ".join(done.stdout.split()).startswith(
        "centred at G = 4: It is Dr. GRPO, mean of all (arXiv:2503.20783). It maximises 0.75 V: a prompt"
    )
    assert len(done.stdout.splitlines()) <= 20
    assert json.loads((tmp_path / "x.json").read_text())["group_size"] == 4


def test_a_metric_of_a_file(mine, tmp_path):
    done = mine("metric", "bootstrap", "--json", tmp_path / "x.json")
    assert done.exit_code == 0, done.output
    assert "it is pass@k of answers drawn with replacement" in " ".join(done.output.split())
    assert json.loads((tmp_path / "x.json").read_text())["example"] == pytest.approx(0.684, abs=1e-3)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("advantage", "broken"), 1, "could not be audited: the advantage returned ()"),
        (("metric", "of_one"), 1, "could not be audited: the metric takes (n)"),
        (("metric", "interrupted"), 130, "interrupted: nothing was written"),
        (("advantage", "centred", "--group-size", 1), 2, "--group-size"),
        (("metric", "bootstrap", "--samples", "policy"), 2, "No such option"),
    ],
)
def test_what_fails_and_wrong_usage(mine, options, code, words):
    done = mine(*options)
    assert done.exit_code == code
    assert words in done.output


def test_a_loss_off_policy_stands_beside_itself_on_policy(losses, tmp_path):
    losses.write_text(
        "def clipped(log_pi, log_old, advantages):\n"
        "    r = (log_pi - log_old).exp()\n"
        "    return -((r * advantages).minimum(r.clamp(0.8, 1.2) * advantages)).mean(), {'r': r}\n"
    )
    out = tmp_path / "found.json"
    done = CliRunner().invoke(main, ["audit", "loss", f"{losses}:clipped", "--json", str(out)])
    assert done.exit_code == 0, done.output
    on, off = (" ".join(part.split()) for part in done.stdout.split("\n\n")[:2])
    assert on.startswith("clipped on policy samples: ")
    assert off.startswith(
        "clipped on old policy samples: On single tokens, not on longer answers: This is the reward's policy "
        "gradient, as long as every ratio pi/old is between 0.8 and 1.2. Outside that range: at pi/old = "
    )
    assert len(done.stdout.splitlines()) <= 20
    findings = json.loads(out.read_text())
    assert (findings["samples"], findings["off_policy"]["samples"]) == ("policy", "old_policy")


def test_what_code_prints_is_not_shown_and_its_time_is_limited(tmp_path, monkeypatch):
    path = tmp_path / "loud.py"
    path.write_text(
        "import time\n"
        "def loud(log_pi):\n    print('hello')\n    return log_pi.sum()\n"
        "def slow(log_pi):\n"
        "    try:\n        time.sleep(30)\n    except Exception:\n        pass\n    return log_pi.sum()\n"
        "def slow_metric(n, c, k):\n    time.sleep(30)\n"
    )
    done = CliRunner().invoke(main, ["audit", "loss", f"{path}:loud"])
    assert done.exit_code == 0, done.output
    assert "hello" not in done.output
    assert "lines, which are not shown" in done.output
    monkeypatch.setattr("dph_theory.audit.cli.LONGEST", 0.2)
    for kind, name in (("loss", "slow"), ("metric", "slow_metric")):
        done = CliRunner().invoke(main, ["audit", kind, f"{path}:{name}"])
        assert done.exit_code == 1
        assert "took over 0.2 s" in done.output


def test_a_long_verdict_ends_with_where_the_rest_is(capsys):
    say(terminal.console(), ["word " * 400, "more"], [("name", "words")])
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[-1].strip()) == (20, "The other findings stand in what --json FILE writes.")
