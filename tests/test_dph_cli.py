import importlib
import os
import subprocess
import sys
import types

import click
import pytest
from click.testing import CliRunner

import dph_cli


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_help_lists_every_command_and_imports_none_of_them():
    code = (
        "import sys, click.testing, dph_cli\n"
        "out = click.testing.CliRunner().invoke(dph_cli.main, ['--help'])\n"
        "heavy = {'numpy', 'scipy', 'sympy', 'torch', 'rich', 'dph_theory'} & set(sys.modules)\n"
        "print(out.exit_code, sorted(heavy)); print(out.output)"
    )
    out = fresh(code)
    assert out.startswith("0 []")
    assert all(name in out for name in dph_cli.COMMANDS)


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("from dph_theory import *; from dph_theory import DIVERGENCES, TabularMDP",
         {"torch", "transformers"}),
        ("import dph_theory.checkpoints", {"sympy.core", "torch"}),
        ("import dph_theory.verification.cli", {"sympy.core", "scipy"}),
        ("import click, dph_cli; dph_cli.main.shell_complete(click.Context(dph_cli.main), '')",
         {"numpy", "torch"}),
    ],
)  # fmt: skip
def test_what_needs_no_large_library_loads_none(code, heavy):
    assert fresh(f"{code}; import sys; print({heavy} & set(sys.modules))") == "set()"


def test_every_command_can_be_loaded_and_says_the_same_as_the_list():
    for group in (dph_cli.main, dph_cli.experiment):
        for name, command in group.lazy.items():
            assert group.get_command(None, name).get_short_help_str(200) == command.summary


@pytest.mark.parametrize(
    ("code", "status", "errors"),
    [
        ("raise KeyboardInterrupt", 130, "interrupted\n"),
        ("print('word\\n' * 100_000)", 141, ""),
        ("print('word')", 141, ""),
        ("import dph_theory.support.terminal as t; t.console().print('word')", 141, ""),
    ],
)
def test_interrupts_and_closed_pipes_have_their_own_exit_codes_and_no_noise(code, status, errors, tmp_path):
    """Here the command is interrupted, or prints, while it is being imported."""
    (tmp_path / "needy_module.py").write_text(code + "\nimport click\nneedy = click.Command('needy')\n")
    mounted = "d.COMMANDS['needy'] = d._Command('needy_module:needy', '')"
    run = f"import dph_cli as d; {mounted}; d.main(['needy'])"
    reader, writer = os.pipe()
    os.close(reader)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", run], stdout=writer, stderr=subprocess.PIPE, text=True, env=env
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, errors)


def test_what_an_extra_would_bring_is_named_when_a_command_runs_without_it(monkeypatch):
    @click.command()
    def needy():
        importlib.import_module("no_such_library")

    monkeypatch.setitem(dph_cli.COMMANDS, "needy", dph_cli._Command("needy_module:needy", "", "full"))
    module = types.ModuleType("needy_module")
    module.needy = needy
    monkeypatch.setitem(sys.modules, "needy_module", module)
    result = CliRunner().invoke(dph_cli.main, ["needy"])
    assert result.exit_code == 2
    assert 'pip install -e ".[full]"' in result.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["predcit"], "'predcit': is predict meant?"),
        (["audit", "los"], "'los': is loss meant?"),
        (["fly"], "'fly'."),
    ],
)
def test_a_slip_in_a_command_names_the_one_that_is_meant(words, says):
    done = CliRunner().invoke(dph_cli.main, words)
    assert done.exit_code == 2
    assert f"No such command {says}" in done.output
