import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toy_lm

SOURCE = Path(toy_lm.__file__)


def fresh(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.split()


def test_names_are_what_type_checkers_are_told():
    imports = [node for node in ast.walk(ast.parse(SOURCE.read_text())) if isinstance(node, ast.ImportFrom)]
    told = {alias.asname: node.module for node in imports if node.level == 1 for alias in node.names}
    assert told == toy_lm._HOME
    assert set(told) == set(toy_lm.__all__) <= set(dir(toy_lm))


@pytest.mark.parametrize("name", toy_lm.__all__)
def test_every_name_is_found_in_its_room(name):
    found = getattr(toy_lm, name)
    assert found.__module__ == f"toy_lm.{toy_lm._HOME[name]}"
    assert vars(toy_lm)[name] is found


def test_no_room_can_stand_in_a_names_place():
    rooms = {path.stem for path in SOURCE.parent.glob("*.py")}
    assert not rooms & set(toy_lm.__all__)


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'toy_lm' has no attribute 'gpt'"):
        toy_lm.gpt  # noqa: B018


def test_names_are_loaded_at_their_first_use():
    code = "import sys, toy_lm; print('torch' in sys.modules); toy_lm.kl; print('torch' in sys.modules)"
    assert fresh(code) == ["False", "True"]
