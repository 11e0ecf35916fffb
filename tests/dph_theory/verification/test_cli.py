"""The command as a user runs it: its exit status, what it prints, what it leaves behind."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dph_theory.kernel import coq
from dph_theory.theorems import THEOREMS
from dph_theory.verification.cli import verify

DPH = Path(sys.executable).with_name("dph")


def dph(*arguments, **options):
    return subprocess.run([DPH, *arguments], capture_output=True, text=True, check=False, **options)


def here(*arguments):
    """The command in this process, which has loaded already what it needs."""
    return CliRunner().invoke(verify, arguments)


def test_a_quick_run_ends_with_the_counts_and_zero(tmp_path):
    path = tmp_path / "verify.json"
    done = dph("verify", "A8", "C2.old", "--quick", "--instances", "500", "--json", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("4 theorems: 3 proved, 1 refuted; 4 as expected; ")
    assert "false neighbours refuted" in last
    names = [report["theorem"] for report in json.loads(path.read_text())]
    assert names == ["A8.decomposition", "A8.frontier", "A8.equality", "C2.old"]


def test_with_coq_the_kernel_is_compiled_and_what_coq_refuses_fails_the_run(monkeypatch):
    found = replace(coq.recorded(), seconds=2.0)
    monkeypatch.setattr(coq, "installed", lambda: True)
    monkeypatch.setattr(coq, "compiled", lambda: found)
    done = here("L1.gibbs", "--kernel", "--quick")
    assert (done.exit_code, "compiled here in 2 seconds" in done.stdout) == (0, True)
    recorded = coq.recorded()
    elsewhere, cheat = {"coq": "9.0.0", "of_examples": ()}, {"axioms": ("Cheat.proof",)}
    cases = (({"of_examples": ()}, (1, True)), (elsewhere, (0, False)), (elsewhere | cheat, (1, False)))
    for other, ends in cases:
        found = replace(recorded, **other)
        done = here("L1.gibbs", "--kernel", "--quick")
        assert (done.exit_code, "the record says otherwise" in done.stdout) == ends

    def refuses():
        raise coq.CoqError("Laws.v, line 3: no")

    monkeypatch.setattr(coq, "compiled", refuses)
    done = here("L1.gibbs", "--kernel", "--quick")
    assert (done.exit_code, "Coq refuses it\nLaws.v, line 3: no" in done.stdout) == (1, True)


def test_without_coq_the_record_is_shown(monkeypatch):
    monkeypatch.setattr(coq, "installed", lambda: False)
    done = here("L1.gibbs", "--kernel", "--quick")
    assert done.exit_code == 0
    assert "not compiled, Coq is not installed" in done.stdout
    assert f"files accepted by Coq {coq.recorded().coq}" in done.stdout
    assert "1 theorem: 1 proved; 1 as expected" in done.stdout


@pytest.mark.slow
def test_without_torch_the_entries_that_need_it_are_left_out_and_said(tmp_path):
    # A finder that knows no torch, loaded before anything else.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'torch' else find(name, package)\n"
    )
    done = dph(
        "verify", "B6", "--quick", "--instances", "100", env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 0
    last = " ".join(done.stdout.split())
    assert "6 theorems" in last
    assert "1 left out, they need torch (pip install 'dph[toy]')" in last


def test_reports_on_standard_output_stand_alone():
    done = here("A8.frontier", "--quick", "--json", "-")
    assert [report["theorem"] for report in json.loads(done.stdout)] == ["A8.frontier"]
    assert "1 theorem: 1 proved" in done.stderr


def test_the_list_names_every_theorem():
    out = here("--list").stdout
    assert all(name in out for name in THEOREMS)
    assert here("--list", "--json", "-").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("A5.validty",), "the nearest names are A5.validity, "),
        (("Z9",), "the nearest names are "),
        (("--instances", "0"), "--instances"),
        (("--seed", "-1"), "--seed"),
        (("--json", "missing/folder/v.json"), "does not exist"),
        (("--what",), "No such option"),
    ],
)
def test_wrong_usage_is_two_and_says_what_is_allowed(arguments, message):
    done = here(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def interrupted(*options, after):
    """Exit status, output and errors of a long run that gets Ctrl-C so long after its first process began."""
    command = [DPH, "verify", "--instances", "1000000", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, start_new_session=True, **pipes)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    while not (children.read_text() if children.exists() else time.sleep(3.5) or "unknown"):
        time.sleep(0.05)
    time.sleep(after)
    os.killpg(running.pid, signal.SIGINT)
    out, errors = running.communicate(timeout=120)
    return running.returncode, out, errors


def test_an_interrupted_run_leaves_no_file(tmp_path):
    path = tmp_path / "verify.json"
    path.write_text("[]\n")
    status, out, errors = interrupted("--json", path, after=3.0)
    assert status == 130
    assert "interrupted: nothing was written" in out
    assert "Traceback" not in errors
    assert path.read_text() == "[]\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_while_the_registry_is_loaded_is_no_import_error():
    # The first process is that which workers are forked from: loading has just begun.
    status, _, errors = interrupted(after=0.2)
    assert (status, errors) == (130, "")
