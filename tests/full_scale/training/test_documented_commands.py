"""The commands of the docs that train 8 billion weights: each resolves, cuts its batches, fits in 80 GiB."""

import re
import shlex
from pathlib import Path

import pytest
from support.tiny_llama import eight_billion

from full_scale.recipe.schema import load_recipe
from full_scale.training.dry_run import GIB, dry_run
from full_scale.training.launch import Launch

ROOT = Path(__file__).parents[3]
PAGES = ("docs/at-scale.md", "docs/train.md", "README.md")


def commands():
    """The command lines that name a recipe of Llama 3.1 8B, in blocks of code and in tables."""
    for page in PAGES:
        text = (ROOT / page).read_text().replace("\\\n", " ")
        code = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S) + re.findall(r"`(dph [^`\n]+)`", text)
        for line in "\n".join(code).splitlines():
            if re.search(r"--config\s+llama3\.1-8b", line):
                yield shlex.split(line.removeprefix("$ "), comments=True)


COMMANDS = [*commands()]


def after(words, *options):
    """The value of the last of the options that a command line gives."""
    return next((words[words.index(option) + 1] for option in options if option in words), None)


def launched(words):
    file = after(words, "--config_file", "--launch")
    start = Launch.read(ROOT / file) if file else Launch()
    size = after(words, "--num_processes", "--nproc_per_node", "--world-size")
    return Launch(int(size) if size else start.world_size, start.sharded)


def test_there_are_commands_for_every_kind_of_machine():
    assert len(COMMANDS) >= 8
    assert {(launched(words).world_size, launched(words).sharded) for words in COMMANDS} >= {
        (1, False),
        (4, True),
        (8, False),
        (8, True),
        (16, True),
    }


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_documented_command_resolves_and_fits(words, tmp_path):
    named = [word for word in words[words.index("--config") + 2 :] if re.match(r"[a-z_.]+=", word)]
    places = [f"model.path={eight_billion(tmp_path)}", f"output={tmp_path}"]
    recipe = load_recipe(after(words, "--config"), [*named, *places])
    start = launched(words)
    found = dry_run(recipe, start, device=80 * GIB)
    if "train" in words and "--dry-run" not in words:
        assert found.too_large == ()
        assert found.steps.rollouts_per_step == 64 * 16
    assert found.memory["train"].total > 0
