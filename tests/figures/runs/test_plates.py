from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import assert_drawn
from support.small_confrontation import small_confrontation

from dph_theory.counts.estimate import Estimate
from dph_theory.counts.styles import Styles
from figures.look import theme
from figures.runs.inputs import Run, Runs
from figures.runs.plates import PLATES


def runs():
    found, rates = small_confrontation(), np.linspace(0, 1, 50)
    kinds = Styles(40, 4, Estimate(2, 1.8, 2.2), Estimate(1.5, 1.4, 1.6), Estimate(-0.5, -0.6, -0.4))
    log = tuple({"step": s, "reward": 0.1 * s, "collapse/excess_kl": 0.02 * s} for s in range(1, 6))
    seeds = [Run("GRPO", replace(found, styles=kinds), rates**power, log) for power in (1, 2)]
    return Runs(rates, (*seeds, Run("mine", found, rates**3, log)))


@pytest.mark.parametrize("name", PLATES)
def test_every_plate_is_drawn_well(name):
    with theme.look():
        assert_drawn(PLATES[name](runs()))


def test_what_the_runs_do_not_hold_is_not_drawn():
    bare = Runs(np.ones(50), (Run("run", small_confrontation(), np.ones(50), ()),))
    assert PLATES["runs_styles"](bare) is None
    assert PLATES["runs_training_curves"](bare) is None
