import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console
from support.simulated_runs import Simulated, kl_control
from support.tiny_llama import eight_billion

import full_scale.demo
import full_scale.stages
from dph_theory.support.errors import RefusedError
from full_scale import cli
from full_scale.models import versions
from full_scale.recipe.schema import RECIPES

ROOT = Path(__file__).parents[2]
TINY = ("--config", "tiny-sql")


def ended(*findings):
    """As much of a stage's record as is printed."""
    return SimpleNamespace(findings=findings)


def invoke(command, *arguments, **options):
    return CliRunner().invoke(command, list(arguments), **options)


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """Puts something in place of a stage, and empty records of the stages before it in the working folder."""
    monkeypatch.chdir(tmp_path)
    for record in (
        "presample/presample.json",
        "tiny-sql-seed0/training.json",
        "tiny-sql-seed3/training.json",
    ):
        path = tmp_path / "runs" / "tiny-sql" / record
        path.parent.mkdir(parents=True)
        path.touch()

    def put(name, value):
        monkeypatch.setattr(full_scale.stages, name, value)

    return put


def raising(error):
    def stage(*arguments, **options):
        raise error

    return stage


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("presample", (), "--config"),
        ("presample", ("--config", "tiny-spl"), "tiny-sql"),
        ("train", (*TINY, "sampling.temprature=1"), "error: "),
        ("train", (*TINY, "nothing"), "error: "),
        ("train", (*TINY, "presample.k=0"), "error: "),
        ("small_llama", ("--only", "law"), "only='law' is not allowed: one of which_policy, limits, "),
        ("pretrained", ("--expected-gradient",), "--expected-gradient"),
    ],
)
def test_wrong_usage_ends_in_words(command, arguments, said):
    found = invoke(getattr(cli, f"{command}_command"), *arguments)
    assert found.exit_code == 2
    assert said in found.output


def test_overrides_reach_the_stage_and_only_the_first_process_prints(stage):
    seen = []
    stage("train_stage", lambda recipe, progress, say: seen.append(recipe) or ended("it went [well]"))
    found = invoke(cli.train_command, *TINY, "seed=3", "train.learning_rate=1e-6")
    assert found.exit_code == 0, found.output
    assert (seen[0].seed, seen[0].train["learning_rate"]) == (3, 1e-6)
    assert "it went [well]" in found.output
    assert invoke(cli.train_command, *TINY, env={"RANK": "1"}).output == ""


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("train", (), "no pre-sampling in {}/presample: it has not been run"),
        ("evaluate", (), "no pre-sampling in {}/presample: it has not been run"),
        ("evaluate", ("--dry",), "no training.json in {}/tiny-sql-seed0: run dph train"),
        ("presample", ("method.name=NOPE",), "method.name='NOPE' is not allowed: one of GRPO, "),
        ("train", ("--dry-run", "train.sed=3"), "train.key='sed' is not allowed: .*did you mean 'seed'"),
        ("evaluate", ("method.eta=3",), "method.eta=3.0 is not allowed: not with GRPO"),
    ],
)
def test_a_refusal_comes_before_heavy_packages_are_loaded(monkeypatch, tmp_path, command, arguments, says):
    for module in ("full_scale.stages", "full_scale.training.dry_run", "transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    if arguments:
        (tmp_path / "presample").mkdir()
        (tmp_path / "presample" / "presample.json").touch()
    if "method.eta=3" in arguments:
        (tmp_path / "tiny-sql-seed0").mkdir()
        (tmp_path / "tiny-sql-seed0" / "training.json").touch()
    words = (*TINY, f"output={tmp_path}", *(word for word in arguments if word != "--dry"))
    found = invoke(getattr(cli, f"{command}_command"), *words)
    assert found.exit_code == 2
    assert re.search(says.format(re.escape(str(tmp_path))), found.output), found.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("train --dry-run method.name=NOPE", "method.name='NOPE' is not allowed: one of GRPO, "),
        ("train --dry-run method.name=DPH-F method.divergence=own:X", "module:OBJECT that can be imported"),
        ("train --dry-run train.top_k=3", "set sampling.top_k instead"),
        ("presample method.eta=3", "method.eta=3.0 is not allowed: not with GRPO"),
        ("presample model.path=./none", "no such path on this machine"),
        ("presample task.data=none.jsonl", "data='none.jsonl' is not allowed"),
        ("presample task.options.verifier=none.py:f", "verifier='none.py:f'"),
        ("methods --methods GRPO,NOPE", "methods='NOPE' is not allowed: one of GRPO, "),
        ("methods method.eta=3", "method.eta=3.0 is not allowed: not with GRPO"),
        ("count none.jsonl rows.jsonl --verifier exact --to c.jsonl", "model='none.jsonl' is not allowed"),
        ("count smollm2 none.jsonl --verifier exact --to c.jsonl", "data='none.jsonl' is not allowed"),
        ("count smollm2 rows.jsonl --verifier none.py:f --to c.jsonl", "verifier='none.py:f'"),
        ("count smollm2 rows.jsonl --verifier none --to c.jsonl", "verifier='none' is not allowed: math"),
        ("transfer smollm2 none.jsonl --to k.npz", "argument='none.jsonl' is not allowed"),
        ("transfer smollm2 --to k.npz", "MODEL PROMPTS, or --config R.yaml"),
    ],
)
def test_a_refusal_needs_no_torch(tmp_path, words, says):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "p"}\n')
    (tmp_path / "judge.py").write_text("def f(answer, row):\n    return True\n")
    task = {"name": "dataset", "data": "rows.jsonl", "options": {"verifier": "judge.py:f"}}
    (tmp_path / "own.yaml").write_text(json.dumps({"name": "own", "model": {"path": "."}, "task": task}))
    name, *rest = words.split()
    given = [name, *["--config", "own.yaml"] * (name in ("train", "presample", "methods")), *rest]
    # None stands for a package that cannot be imported.
    code = f"import sys; sys.modules['torch'] = None; import dph_cli; dph_cli.main({given})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert says in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "the last checkpoint is stored"),
        (ValueError("D_pef=[] is not allowed"), 2, "error: D_pef=[] is not allowed"),
        (RefusedError("found trl 9"), 2, "error: found trl 9"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
    ],
)
def test_how_a_stage_ends(stage, error, code, words):
    stage("train_stage", raising(error))
    found = invoke(cli.train_command, *TINY)
    assert found.exit_code == code
    assert words in found.output


def test_a_scheduler_s_signal_ends_a_stage_in_words(stage):
    before = signal.getsignal(signal.SIGTERM)
    stage("train_stage", lambda *arguments, **options: os.kill(os.getpid(), signal.SIGTERM))
    found = invoke(cli.train_command, *TINY)
    assert found.exit_code == 143
    said = " ".join(found.output.split())
    assert "ended by SIGTERM: the last checkpoint is stored; the same command goes on from there" in said
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("CUDA error")])
def test_what_is_no_users_fault_is_not_hidden(stage, error):
    stage("train_stage", raising(error))
    assert invoke(cli.train_command, *TINY).exception is error


@pytest.mark.parametrize("name", ["presample", "train", "evaluate", "demo"])
def test_other_versions_are_named_before_anything_of_theirs_is_imported(monkeypatch, tmp_path, name):
    # As where TRL no longer has what is imported from it.
    for module in ("stages", "demo", "estimate"):
        monkeypatch.setitem(sys.modules, f"full_scale.{module}", None)
    monkeypatch.setattr(versions, "_installed", lambda package: "0.9.9")
    arguments = ("--folder", str(tmp_path)) if name == "demo" else TINY
    found = invoke(getattr(cli, f"{name}_command"), *arguments)
    assert found.exit_code == 2
    assert "error: found trl 0.9.9, transformers 0.9.9" in found.output


def test_progress_shows_every_stage(stage, monkeypatch):
    def train(recipe, progress, say):
        for done in (1, 2):
            progress("sampling", done, 2)
        return ended()

    stage("train_stage", train)
    # A log file gets one line a stage, a terminal a bar.
    assert invoke(cli.train_command, *TINY).output.splitlines() == ["sampling: 2/2, 0 s"]
    monkeypatch.setattr(Console, "is_terminal", True)
    shown = invoke(cli.train_command, *TINY).output
    assert "2/2" in shown
    assert "━" in shown


@pytest.mark.parametrize("base", [False, True])
def test_evaluate_the_base_alone(stage, base):
    seen = []
    stage("evaluate_stage", lambda recipe, progress, say, base_only: seen.append(base_only) or ended())
    assert invoke(cli.evaluate_command, *TINY, *["--base"] * base).exit_code == 0
    assert seen == [base]


DRY = ("--config", "llama3.1-8b-bird", "--dry-run", "method.name=DPH-F")
FSDP = ("--launch", str(RECIPES / "launch" / "fsdp2.yaml"))


def test_dry_run_prints_the_resolved_recipe_and_what_is_missing(tmp_path):
    found = invoke(cli.train_command, *DRY, f"output={tmp_path}")
    assert found.exit_code == 1, found.output
    for words in (
        "learning_rate: 1.0e-06",
        "rehearsal_rows: 512",
        "memory: not known",
        "missing: the pre-sampling",
    ):
        assert words in found.output
    # Without a KL penalty nothing is said of where one converges.
    assert "converges to" not in found.output


@pytest.mark.parametrize(("memory", "too_small"), [("80", False), ("30", True)])
def test_dry_run_holds_the_stages_against_a_device(tmp_path, memory, too_small):
    places = (f"output={tmp_path}", f"model.path={eight_billion(tmp_path / 'model')}")
    found = invoke(cli.train_command, *DRY, "--device-memory", memory, *FSDP, *places)
    # The data are missing in both.
    assert found.exit_code == 1, found.output
    assert ("train does not fit in 30 GiB" in " ".join(found.output.split())) == too_small


def test_dry_run_counts_the_processes_it_was_started_with(tmp_path):
    for options, env, rows in (
        ((), {"WORLD_SIZE": "8"}, "1,024"),
        (("--world-size", "4"), {"WORLD_SIZE": "8"}, "512"),
        ((*FSDP, "--world-size", "16"), {}, "2,048"),
    ):
        found = invoke(cli.train_command, *DRY, *options, f"output={tmp_path}", env=env)
        assert re.search(rf"rollouts per step\W+{rows}\b", found.output), (options, env)


def test_dry_run_gives_hours_and_with_a_price_the_cost(tmp_path):
    places = (f"output={tmp_path}", f"model.path={eight_billion(tmp_path / 'model')}", "train.max_steps=10")
    found = invoke(cli.train_command, *DRY, "--tflops", "200", "--price", "3", "--world-size", "8", *places)
    said = " ".join(found.output.split())
    hours, apart, cost = re.search(
        r"about (\S+) device-hours at 200 .* (\S+) hours on 8 .* (\S+) at 3 per", said
    ).groups()
    assert float(hours) == pytest.approx(8 * float(apart), rel=0.01)
    assert float(cost.replace(",", "")) == pytest.approx(3 * float(hours), rel=0.01)
    found = invoke(cli.train_command, *DRY, f"output={tmp_path}")
    assert "hours: not known" in found.output


def test_help_lists_the_keys_of_a_recipe():
    said = " ".join(invoke(cli.train_command, "--help").output.split())
    for words in (
        "Sampling temperature. (float; 1.0)",
        "Rollouts of each prompt. (int; 8)",
        "model.dtype",
        "evaluate.k",
    ):
        assert words in said


def test_compare_prints_tables_and_writes_the_record(tmp_path):
    rng = np.random.default_rng(0)
    run = Simulated(kl_control(rng, 20, 0.5)).write(rng, tmp_path)
    found = invoke(cli.validate_command, str(run), "--json", str(tmp_path / "c.json"))
    assert found.exit_code == 0, found.output
    assert "sanity checks" in found.output
    assert "predictions" in found.output
    stored = json.loads((tmp_path / "c.json").read_text())
    assert stored["kind"] == "full_scale.validation"
    assert stored["findings"][-1] in found.output


def test_demo_prints_tables_and_sentences(tmp_path, monkeypatch):
    value = {"values": [0.5]}
    result = {
        "results": {
            "set": "in_domain",
            "prompts": 3,
            "methods": {"base": dict.fromkeys(full_scale.demo.COLUMNS, value)},
            **dict.fromkeys(("differences", "checks", "predictions"), ()),
        },
        "findings": ["nothing reproduced"],
    }
    monkeypatch.setattr(full_scale.demo, "demo", lambda folder, **options: result)
    found = invoke(cli.demo_command, "--quick", "--folder", str(tmp_path))
    assert found.exit_code == 0, found.output
    assert found.output.count("┏") == 1, "a table without rows is left out"
    assert "nothing reproduced" in found.output


def test_an_experiment_lists_what_is_done_without_a_run(tmp_path):
    found = invoke(cli.small_llama_command, "--list", "--only", "limits", "--folder", str(tmp_path))
    assert found.exit_code == 0
    assert "0 of 18" in found.output
    assert not (tmp_path / "bases").exists()
