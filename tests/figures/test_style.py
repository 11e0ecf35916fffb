"""Sheets, looks and the words of methods."""

import matplotlib as mpl
import numpy as np
import pytest

from figures.style import LOOKS, Sheet, curve, dot, look, written
from figures.venues import VENUES


@pytest.mark.parametrize(
    ("label", "like", "words"),
    [
        ("DPH-F 0.3", "forward KL", "DPH-F"),
        ("DPH-alpha 0.3", "alpha", r"DPH-$\alpha$"),
        ("k3 without importance weight", "forward KL", "k3 without importance weight"),
        ("k3 with importance weight", "reverse KL", "k3 with importance weight"),
        ("KL control mu=0.5", "KL in the reward", r"KL control, $\mu = 0.5$"),
        ("reverse KL on D_pef", "reverse KL", r"reverse KL on $\mathcal{D}_{\mathrm{pef}}$"),
    ],
)
def test_a_method_looks_alike_wherever_it_is_drawn_and_is_written_with_symbols(label, like, words):
    assert look(label) == LOOKS[like]
    assert look(label, marker="")["marker"] == ""
    assert look("mine")["color"] == "#000000"
    assert written(label) == words


def test_looks_are_told_apart_without_colour():
    kinds = [(str(of["linestyle"]), of["marker"]) for of in LOOKS.values()]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("venue", ["icml", "beamer"])
def test_a_column_stacks_its_panels_and_keeps_the_size_of_words(venue):
    wide, narrow = Sheet(VENUES[venue]), Sheet(VENUES[venue], "column")
    for sheet, across in ((wide, 2), (narrow, 1)):
        panels = sheet.panels(2)
        assert panels[0].get_subplotspec().get_gridspec().ncols == across
    assert narrow.drawing.get_figheight() > wide.drawing.get_figheight()
    with narrow.look():
        assert mpl.rcParams["font.size"] == 8.0
        assert mpl.rcParams["font.family"] == [VENUES[venue].words]
    assert mpl.rcParams["font.size"] != 8.0 or mpl.rcParams["font.family"] != [VENUES[venue].words]


def test_titles_are_left_out_where_none_are_asked_for():
    for title, words in (("panels", "one"), ("none", "")):
        sheet = Sheet(title=title)
        sheet.panels().set_title("one")
        assert sheet.finished().axes[0].get_title() == words


def test_a_mean_has_a_band_or_bars_and_nothing_where_there_is_no_interval():
    axes = Sheet().panels()
    x, mean = np.arange(3.0), np.arange(3.0)
    curve(axes, x, mean, mean - 1, mean + 1, color="red")
    assert len(axes.collections) == 1
    curve(axes, x, mean, mean - 1, mean + 1, bars=True, color="red", markevery=(1, 2))
    assert len(axes.collections[-1].get_segments()) == 1
    curve(axes, x, mean, mean - np.inf, mean + np.inf, color="red")
    dot(axes, (np.nan, np.nan, np.nan), 0, look("GRPO"))
    assert (len(axes.collections), len(axes.lines)) == (2, 3)
