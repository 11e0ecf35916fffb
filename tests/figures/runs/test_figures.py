from types import SimpleNamespace

import numpy as np
import pytest
from support.drawing_checks import assert_drawn
from support.small_confrontation import runs, small_confrontation

from figures.runs.figures import OWN_FIGURES, _looks
from figures.runs.tables import OwnRun, Runs
from figures.style import theme


@pytest.mark.parametrize("figure", OWN_FIGURES, ids=lambda figure: figure.name)
def test_every_figure_is_drawn_well(figure):
    with theme.look():
        assert_drawn(figure.draw(runs()))


def test_labels_without_a_known_look_take_colours_that_are_free():
    looks = _looks(runs())
    assert looks["GRPO"]["color"] == theme.METHODS["GRPO"]["color"]
    assert looks["mine"]["color"] == theme.BLUE
    again = _looks(SimpleNamespace(by_label={"GRPO 0.1": None, "GRPO 0.3": None}))
    assert again["GRPO 0.1"]["color"] == theme.METHODS["GRPO"]["color"] != again["GRPO 0.3"]["color"]
    many = {f"run {i}": None for i in range(7)}
    assert len({how["color"] for how in _looks(SimpleNamespace(by_label=many)).values()}) == 6


def test_labels_that_differ_in_a_number_alone_are_told_apart():
    found = small_confrontation()
    names = ["run 1", "run 2"]
    two = Runs(np.ones(50), tuple(OwnRun(name, found, np.ones(50), ()) for name in names))
    made = {figure.name: figure.draw(two) for figure in OWN_FIGURES}
    for name in ("runs_pass_at_k", "runs_profiles", "runs_laws"):
        assert [text.get_text() for text in made[name].legends[0].get_texts()][-2:] == names
    rows = made["runs_keep_and_explore"].axes[0].get_yticklabels()
    assert [text.get_text() for text in rows] == names


def test_what_the_runs_do_not_hold_is_not_drawn():
    bare = Runs(np.ones(50), (OwnRun("run", small_confrontation(), np.ones(50), ()),))
    assert {figure.name for figure in OWN_FIGURES if figure.draw(bare) is None} == {
        "runs_styles",
        "runs_training_curves",
    }


def test_a_single_run_has_bars_and_the_title_tells_whether_its_law_is_rejected():
    one = Runs(np.linspace(0, 1, 50), (OwnRun("mine", small_confrontation(), np.linspace(0, 1, 50), ()),))
    made = {figure.name: figure.draw(one) for figure in OWN_FIGURES}
    for name in ("runs_pass_at_k", "runs_profiles"):
        assert len(made[name].axes[-1].collections) == 1, name
    (bars,) = made["runs_pass_at_k"].axes[1].collections
    curves = one.runs[0].found.curves
    shown = {k: (low, high) for k, low, high in zip(curves.k, curves.low, curves.high, strict=True)}
    for (k, low), (_, high) in bars.get_segments():
        assert (low, high) == shown[int(k)]
    assert made["runs_pass_at_k"].axes[1].get_title() == f"{bool(curves.worse):d} of 1 told worse at some $k$"
    assert made["runs_laws"].axes[0].get_title() == "Best law rejected for 1 of 1 runs"
