import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import dph_cli

ROOT = Path(__file__).parents[1]


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


def commands(command, *path):
    """Every command with the words by which it is called."""
    yield path, command
    for name in command.list_commands(click.Context(command)) if isinstance(command, click.Group) else ():
        yield from commands(command.get_command(click.Context(command), name), *path, name)


COMMANDS = dict(commands(dph_cli.main))
HEAVY = ("torch", "transformers", "trl", "scipy", "sympy.core", "matplotlib.pyplot", "datasets", "pandas")
RUN = {"audit", "audit metric", "compare", "figures", "predict", "verify"}
"""Whose examples are run; those of the others, which train, sample or take long, are read by the command."""
every_command = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


def test_no_help_loads_what_is_heavy():
    """In one process all are called: what one has loaded is loaded for those after it too."""
    code = (
        "import sys, dph_cli\nfrom click.testing import CliRunner\n"
        f"for path in {[*COMMANDS]}:\n"
        "    result = CliRunner().invoke(dph_cli.main, [*path, '--help'])\n"
        f"    print(path, result.exit_code, {{*{HEAVY}}} & {{*sys.modules}})"
    )
    assert fresh(code).splitlines() == [f"{path} 0 set()" for path in COMMANDS]


@every_command
def test_help_ends_with_one_example_that_works(path, tmp_path, monkeypatch):
    page = CliRunner().invoke(dph_cli.main, [*path, "--help"]).output
    assert page.count("Example: ") == 1
    dph, *words = page.partition("Example: ")[2].split()
    assert (dph, words[: len(path)]) == ("dph", list(path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for word in words:
        if word.startswith("runs/"):
            (tmp_path / word).mkdir(parents=True)
    if " ".join(path) in RUN:
        done = CliRunner().invoke(dph_cli.main, words)
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= 80
        return
    command = dph_cli.main
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
    command.make_context(words[0] if words else "", words)


@every_command
def test_options_are_named_by_nouns_and_mean_one_thing(path):
    for option in (option for option in COMMANDS[path].params if isinstance(option, click.Option)):
        noun = r"(?!(Of|Where|Which|Whose|How|With|In|Also|So|At|Yours|That|As|Write) )[A-Z].*(?<! there)\."
        assert re.match(noun, option.help or ""), (option.opts, option.help)
        meaning = MEANINGS.get(option.opts[0])
        assert meaning is None or option.help.startswith(meaning), option.opts


MEANINGS = {
    "--folder": "Folder of ",
    "--seeds": "Number of seeds",
    "--steps": "Number of training steps",
    "--version": "Show the version",
    "--seed": "Seed of ",
    "--to": ("File of ", "Folder of "),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        "compare examples/counts/base.jsonl examples/counts/grpo.jsonl --json /dev/full",
        "verify kl_control.pass_rate --quick --json /dev/full",
    ],
)
def test_a_full_disk_is_an_error_in_words(words):
    result = CliRunner().invoke(dph_cli.main, words.split())
    assert result.exit_code == 1
    assert "No space left" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("words", ["--help", "audit --help", "train --help", "--version"])
def test_output_that_cannot_be_written_is_an_error_in_words(words):
    code = f"import dph_cli; dph_cli.main({words.split()})"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "Error: [Errno 28] No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_control_characters_of_arguments_do_not_reach_the_terminal():
    result = CliRunner().invoke(dph_cli.main, ["audit", "loss", "none\x9b\u202e.py:loss"])
    assert result.exit_code != 0
    assert "there is no file none" in result.output
    assert "\x9b" not in result.output
    assert "\u202e" not in result.output
