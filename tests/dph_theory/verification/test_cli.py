"""The command as a user runs it: its exit status, what it prints, what it leaves behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dph_theory.coq import compiler, printer
from dph_theory.coq.compilation import recorded
from dph_theory.theorems import THEOREMS
from dph_theory.verification.cli import verify

DPH = Path(sys.executable).with_name("dph")


def here(*arguments):
    """The command in this process, which has loaded already what it needs."""
    return CliRunner().invoke(verify, arguments)


def test_a_quick_run_is_grouped_by_source_and_ends_with_the_counts(tmp_path):
    path = tmp_path / "verify.json"
    short = ("--quick", "--test-cases", "500", "--json", str(path))
    names = [f"frontier.{word}" for word in ("decomposition", "frontier", "equality")]
    done = here(*names, "kl_control.cost", "dph_theorem_1", *short)
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    _, counts = words.rsplit(
        "8 theorems: 5 proved (proof recorded, not compiled now), 3 refuted; 8 as expected; ", 1
    )
    assert re.fullmatch(r"\d+ of \d+ false variants rejected; [\d,]+ test cases", counts)
    published, ours = done.stdout.index("dymetman2026binary"), re.search(r"ours +│", done.stdout).start()
    assert published < done.stdout.index("kl_control.cost") < ours < done.stdout.index(".frontier")
    assert THEOREMS["dph_theorem_1.old"].note.split(";")[0] in words
    assert "counterexample: {'P': " in words
    words = ["decomposition", "frontier", "equality", "cost", "undiscounted", "old", "new", "generic"]
    assert [r["theorem"].partition(".")[2] for r in json.loads(path.read_text())] == words


def test_what_coq_says_of_the_kernel_is_shown_and_what_it_refuses_fails_the_run(monkeypatch):
    record = recorded()
    cheat = {"axioms": {name: (*axioms, "Kernel.Cheat.proof") for name, axioms in record.axioms.items()}}
    otherwise, elsewhere = "the record says otherwise", {"coq": "9.0.0", "paths": {}}
    for installed, changed, status, said in (
        (True, {"seconds": 2.0}, 0, "compiled now, in 2 seconds"),
        (True, {"paths": {}}, 1, otherwise),
        (True, elsewhere, 0, ""),
        (True, elsewhere | cheat, 1, "kl_control.cost: Kernel.Cheat.proof is not allowed below it"),
        (True, None, 1, "Coq refuses them\nLaws.v, line 3: no"),
        (False, None, 0, f"files accepted by Coq {record.coq}"),
    ):

        def compiled(proved, refuted, changed=changed):
            if changed is None:
                raise compiler.CoqError("Laws.v, line 3: no")
            return replace(record, **changed)

        monkeypatch.setattr(compiler, "installed", lambda installed=installed: installed)
        monkeypatch.setattr(printer, "compiled", compiled)
        done = here("kl_control.cost", "--coq", "--quick")
        assert (done.exit_code, said in done.stdout) == (status, True), done.stdout
        assert (otherwise in done.stdout) is (said == otherwise)
        assert ("not compiled, Coq is not installed" in done.stdout) is not installed
        compiles = installed and changed is not None
        assert ("1 proved (compiled now)" in done.stdout) is compiles
        assert ("this takes about" in done.stdout) is installed


def test_reports_on_standard_output_stand_alone_and_the_list_names_every_theorem():
    done = here("kl_control.cost", "--quick", "--json", "-")
    assert [report["theorem"] for report in json.loads(done.stdout)] == ["kl_control.cost"]
    assert "1 theorem: 1 proved" in done.stderr
    listed = here("--list").stdout
    assert all(name in listed for name in THEOREMS)


def test_a_paper_is_listed_by_claim_entry_status_figure_and_command():
    listed = here("--paper", "li2025choice").stdout
    assert max(map(len, listed.splitlines())) <= 80
    lines = [line.strip() for line in listed.partition("Theorem 1; cf. kang2018pofd\n")[2].splitlines()]
    # First what needs no reading of the paper.
    assert lines[0].startswith("Theorem 1 without a discount says that no reference is ever better")
    assert "REFUTED  dph verify dph_theorem_1.undiscounted; dph figures bounds" in lines
    assert "Theorem 1 with delta below E_pef A_old" in listed
    listed = here("--paper", "dymetman2026binary", "limits").stdout
    assert "PROVED  dph verify kl_control.reverse; dph figures tilted_to_filtered" in listed
    assert "kl_control.cost" not in listed


def test_theorem_1_is_answered_in_fifteen_lines_with_every_part_of_the_counterexample():
    done = here("theorem 1", "--quick")
    assert done.exit_code == 0
    answer, _, counts = done.stdout.partition("3 theorems: 3 refuted")
    lines, next_command = answer.strip().splitlines(), counts.strip().splitlines()[-1]
    assert len(lines) < 15
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    for part in ("J(pi) - L_old(pi) >=", "delta = 0.04", "alpha_1 = 0,", "alpha_2 = 0.003203", "C_f = 2",
                 "eps_pi = 0.5", "eps_pef = 0.54", "J - L_old = 0,", "eps_f = 0.0886", "No C_f helps",
                 "What holds", "dph figures bounds"):  # fmt: skip
        assert part in text
    assert next_command == "Next: dph verify anchor_bound"


@pytest.mark.parametrize(
    ("names", "entry"),
    [
        (("Dymetman", "dymetman", "2605.02375"), "misspecification.collapse"),
        (("Theorem 3.1", "theorem 3.1d", "Theorem 3.1D"), "kl_control.reverse"),
        (("Proposition 2.3",), "frontier.closest"),
        (("Eq. 8",), "kl_control.inverse"),
        (("Section 5",), "misspecification.order"),
        (("Li", "2509.07430", "Theorem 1"), "dph_theorem_1.old"),
        (("Lemma 2", "Schulman"), "trpo_bound.trpo"),
        (("GX-Chen", "2510.20817"), None),
    ],
)
def test_a_paper_s_own_names_and_places_select_its_claims(names, entry):
    for name in names:
        done = here(name, "--list")
        assert (done.exit_code == 0) is (entry is not None), name
        assert entry is None or f"dph verify {entry}" in done.stdout


def test_the_four_limits_are_the_parts_of_one_theorem():
    listed = here("Theorem 3.1", "--list").stdout
    assert [line.split()[3] for line in listed.splitlines() if "dph verify" in line] == [
        f"kl_control.{name};" for name in ("pointwise", "variation", "forward", "reverse")
    ]


@pytest.mark.parametrize(("arguments", "message"), [
    (("kl_control.cots",), "the nearest names are kl_control.cost, "),
    (("Z9",), "a section of one: 'degeneracy' of dymetman2026binary, "),
    (("Proposition 3",), "the nearest names are frontier.pythagoras, frontier.closest"),
    (("Corollary 3",), "'Theorem 1' of li2025choice"),
    (("Theorem 2",), "a section of one: 'degeneracy' of dymetman2026binary, "),
    (("li2025",), "the nearest names are li2025choice"),
    (("bernoullis",), "the nearest names are kl_control.cost"), (("--test-cases", "0"), "--test-cases"),
    (("--seed", "-1"), "--seed"), (("--json", "missing/folder/v.json"), "does not exist"),
    (("--list", "--json", "-"), "--list"), (("--what",), "No such option"),
])  # fmt: skip
def test_wrong_usage_is_two_and_says_what_is_allowed(arguments, message):
    done = here(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def below(pid):
    """The processes that a process has begun."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return children.read_text().split() if children.exists() else []


@pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="no children listed")
@pytest.mark.parametrize("loaded", [False, True])
def test_an_interrupted_run_says_so_and_leaves_no_file(tmp_path, loaded):
    path = tmp_path / "verify.json"
    path.write_text("[]\n")
    command = [DPH, "verify", "--test-cases", "1000000", "--json", path]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as running:
        try:
            # The first process is that from which workers are forked: loading the registry has just begun.
            while not (workers := below(running.pid)) or (loaded and not any(map(below, workers))):
                time.sleep(0.05)
            time.sleep(0.2)
            os.killpg(running.pid, signal.SIGINT)
            out, errors = running.communicate(timeout=120)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 130
    assert "interrupted: nothing was written" in out
    assert "Traceback" not in errors
    assert loaded or errors == ""
    assert path.read_text() == "[]\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_theorem_that_is_named_is_stated_with_its_sides_at_an_example(capsys):
    refuted = CliRunner().invoke(verify, ["dph_theorem_1.undiscounted", "--quick"]).output
    assert "dph_theorem_1.undiscounted: Theorem 1 without a discount says" in refuted
    assert "at its first example, claimed, and false: 0.8 <= 0.6" in refuted
    checked = CliRunner().invoke(verify, ["between_prompts.slope", "--quick"]).output
    assert "at its first example, -0.0208531 -> -0.0208531" in checked
