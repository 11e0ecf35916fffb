import subprocess
import sys
from pathlib import Path

import pytest

import toy_lm


@pytest.mark.parametrize("name", toy_lm.__all__)
def test_every_name_is_found_in_its_room_and_no_room_stands_in_its_place(name):
    assert getattr(toy_lm, name).__module__.startswith(("toy_lm.engine.", "toy_lm.collapse."))
    assert name in dir(toy_lm)
    assert not Path(toy_lm.__file__).with_name(f"{name}.py").exists()


def test_what_needs_no_torch_waits_for_none():
    code = "import sys, toy_lm; toy_lm.MarkovLM; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
