from types import SimpleNamespace

import numpy as np
import pytest
from support.drawing_checks import assert_drawn
from support.small_confrontation import runs, small_confrontation

from figures.look import theme
from figures.runs.inputs import Run, Runs
from figures.runs.plates import PLATES, _looks


@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.name)
def test_every_plate_is_drawn_well(plate):
    with theme.look():
        assert_drawn(plate.draw(runs()))


def test_labels_without_a_known_look_take_colours_that_are_free():
    looks = _looks(runs())
    assert looks["GRPO"]["color"] == theme.METHODS["GRPO"]["color"]
    assert looks["mine"]["color"] == theme.BLUE
    many = {f"run {i}": None for i in range(7)}
    assert len({how["color"] for how in _looks(SimpleNamespace(by_label=many)).values()}) == 6


def test_what_the_runs_do_not_hold_is_not_drawn():
    bare = Runs(np.ones(50), (Run("run", small_confrontation(), np.ones(50), ()),))
    assert {plate.name for plate in PLATES if plate.draw(bare) is None} == {
        "runs_styles",
        "runs_training_curves",
    }
