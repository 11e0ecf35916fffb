import subprocess
import sys
from pathlib import Path

import pytest

import toy_lm

SOURCE = Path(toy_lm.__file__)


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("name", toy_lm.__all__)
def test_every_name_is_found_in_its_room(name):
    assert getattr(toy_lm, name).__module__.startswith(("toy_lm.engine.", "toy_lm.collapse."))
    assert name in dir(toy_lm)


def test_no_room_can_stand_in_a_names_place():
    rooms = {path.stem for path in SOURCE.parent.glob("*.py")}
    assert not rooms & set(toy_lm.__all__)


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="No toy_lm attribute gpt"):
        toy_lm.gpt  # noqa: B018


def test_names_are_loaded_at_their_first_use():
    code = "import sys, toy_lm; print('torch' in sys.modules); toy_lm.fits; print('torch' in sys.modules)"
    assert fresh(code) == ["False", "True"]
