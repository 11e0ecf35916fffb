"""The command on stub experiments: what it runs, prints, writes and leaves behind."""

import json
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dph_theory.support.errors import argument_error
from dph_theory.support.record import record
from dph_theory.support.table import Table
from toy_lm import strategies
from toy_lm.cli import toy
from toy_lm.collapse.case import read_problem
from toy_lm.experiments import NAMES, ToyExperiment

EXAMPLE = Path(__file__).parents[2] / "examples/own_problem.toml"


@dataclass(frozen=True)
class StubConfig:
    size: str = "full"
    methods: tuple[str, ...] = ("GRPO", "DPH-F")
    seeds: int = 3

    def __post_init__(self):
        for name in self.methods:
            if name not in ("GRPO", "DPH-F"):
                raise argument_error("methods", name, "one of GRPO, DPH-F")

    @classmethod
    def quick(cls):
        return cls(size="quick")


class Stub(SimpleNamespace):
    """An experiment that records how it was called; `raises` is what its run ends with."""

    def __init__(self, name, raises=None):
        real = ToyExperiment(name).package
        of_package = {"OPTIONS": real.OPTIONS, "FIGURES": real.FIGURES, f"{name.title()}Config": StubConfig}
        super().__init__(__name__=f"toy_lm.{name}", name=name, raises=raises, calls=[], **of_package)

    def run(self, config, *, seed=0, progress=None, **rest):
        self.calls.append((config, seed, rest))
        progress("training", 0, 2)
        progress("training", 2, 2)
        if self.raises is not None:
            raise self.raises
        found = [f"{self.name} [n=1] found."]
        return record(f"toy.{self.name}", seed=seed, config={"size": config.size}, results={}, findings=found)

    def tables(self, found):
        return [Table((f"table of {found['kind']}",), ())]


@pytest.fixture
def stubs(monkeypatch):
    made = {name: Stub(name) for name in NAMES}
    for name, stub in made.items():
        monkeypatch.setitem(sys.modules, f"toy_lm.{name}", stub)
    return made


def call(*arguments):
    return CliRunner().invoke(toy, [str(a) for a in arguments])


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_shows_its_findings_then_its_tables_and_writes_its_record(stubs, tmp_path, name):
    path = tmp_path / "out.json"
    done = call(name, "--json", path, "--seed", 7, "--quick")
    assert done.exit_code == 0, done.output
    assert stubs[name].calls == [(StubConfig("quick"), 7, {})]
    assert done.stdout.index(f"{name} [n=1] found.") < done.stdout.index(f"table of toy.{name}")
    assert done.stdout.splitlines()[-1].startswith("Next: dph figures ")
    assert "training" in done.stderr
    written = json.loads(path.read_text())
    assert (written["kind"], written["seed"]) == (f"toy.{name}", 7)
    assert not any(stub.calls for other, stub in stubs.items() if other != name)


def test_styles_takes_methods_seeds_and_a_folder_and_the_others_do_not(stubs, tmp_path):
    done = call("styles", "--methods", "DPH-F, GRPO", "--seeds", 5, "--folder", tmp_path / "runs")
    assert done.exit_code == 0, done.output
    config = StubConfig("full", ("DPH-F", "GRPO"), 5)
    assert stubs["styles"].calls == [(config, 0, {"folder": tmp_path / "runs"})]
    assert call("strategies", "--seeds", 5).exit_code == 2


def test_collapse_takes_a_problem_from_a_file(stubs, tmp_path):
    done = call("collapse", "--quick", "--problem", EXAMPLE)
    assert done.exit_code == 0, done.output
    ((_, _, rest),) = stubs["collapse"].calls
    found, same = rest["problem"], read_problem(EXAMPLE)
    assert (found.name, found.length) == (same.name, same.length) == ("pairs", 6)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(EXAMPLE.read_text().replace("length = 6", "length = -6"))
    done = call("collapse", "--problem", wrong)
    assert (done.exit_code, len(stubs["collapse"].calls)) == (2, 1)
    assert f"{wrong}: length=-6 is not allowed" in done.stderr.replace("\n", "")


def test_an_interrupted_run_says_what_it_leaves_behind(stubs, tmp_path):
    stubs["styles"].raises = KeyboardInterrupt()
    done = call("styles", "--json", tmp_path / "out.json")
    assert done.exit_code == 130
    assert "interrupted: nothing was written" in done.stdout
    assert not (tmp_path / "out.json").exists()
    done = call("styles", "--folder", tmp_path / "runs")
    assert f"finished runs are stored in {tmp_path / 'runs'}: the same command goes on" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("collapse", "--seed", -1), "-1 is not in the range"),
        (("styles", "--seeds", 0), "0 is not in the range"),
        (("styles", "--methods", "PPO"), "methods='PPO' is not allowed: one of GRPO, DPH-F"),
        (("collapse", "--json", "nowhere/out.json"), "nowhere does not exist"),
        (("styles", "--folder", "nowhere/runs"), "the folder nowhere does not exist"),
    ],
)
def test_wrong_usage_says_what_is_allowed(stubs, arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not any(stub.calls for stub in stubs.values())


def test_a_folder_of_another_configuration_is_wrong_usage_and_other_errors_are_not_hidden(stubs, tmp_path):
    stubs["styles"].raises = ValueError("the folder holds seeds=3, not 5")
    done = call("styles", "--folder", tmp_path)
    assert (done.exit_code, "the folder holds seeds=3" in done.stderr) == (2, True)
    assert isinstance(call("styles").exception, ValueError)


def test_strategies_runs_as_it_is(monkeypatch, tmp_path):
    quick = replace(strategies.StrategiesConfig.quick(), steps=2, random_tasks=4)
    monkeypatch.setattr(strategies.StrategiesConfig, "quick", classmethod(lambda cls: quick))
    done = call("strategies", "--quick", "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out.json").read_text())
    assert " ".join(done.stdout.split()).startswith(" ".join(found["findings"]))
    *lines, following = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert shlex.split(following, comments=True)[-2:] == ["--tables", "out"]


def test_no_cell_of_a_wide_table_is_cut_off(stubs):
    numbers = [f"0.12{column:02d}" for column in range(10)]
    names = [f"measured{column}" for column in range(10)]
    stubs["collapse"].tables = lambda record: [Table(tuple(names), (tuple(numbers),), "the optimum of E[v]")]
    *lines, _ = call("collapse").stdout.splitlines()
    assert any(line.split() == numbers for line in lines)
    assert "the optimum of E[v]" in map(str.rstrip, lines)
    assert max(map(len, lines)) <= 80
