import math

import pytest
from matplotlib.figure import Figure as Drawing

from dph_theory.intervals import Interval
from dph_theory.support.record import as_json, from_json
from figures.style import seeds, theme


def test_two_seeds_have_the_interval_of_one_degree_of_freedom():
    found = seeds.over_seeds([[0.5, 1.0], [0.7, 1.0]])
    assert found.mean == pytest.approx([0.6, 1.0])
    # t with one degree of freedom is 12.706 at 95%; the standard error is 0.1.
    assert found.high[0] - 0.6 == pytest.approx(12.7062047 * 0.1, rel=1e-7)
    assert found.low[1] == found.high[1] == 1.0
    assert found.scaled(100).high[1] == 100
    assert found.scaled(100, less=[1, 2]).mean == pytest.approx([59, 98])


@pytest.mark.parametrize("values", [[0.5], [[0.5, 0.6]]])
def test_one_seed_has_no_interval(values):
    found = seeds.over_seeds(values)
    assert found.mean.tolist() == values[0]
    assert found.low is found.high is found.scaled(2).low is None


@pytest.mark.parametrize("infinite", [("-inf", "inf"), (-math.inf, math.inf)])
def test_stored_infinities_are_no_interval(infinite):
    assert seeds.Means.of(Interval(0.5, *infinite)).low is None
    known = seeds.Means.of(Interval(0.5, 0.4, 0.6))
    assert (known.mean, known.low, known.high) == (0.5, 0.4, 0.6)
    assert from_json(seeds.Means, as_json(known)).high == 0.6


def test_a_label_looks_like_the_method_it_begins_with():
    assert seeds.look("DPH-F 0.3") == theme.METHODS["DPH-F"]
    assert seeds.look("DPH-alpha 0.3") == seeds.look("alpha") == theme.METHODS["DPH-alpha"]
    assert seeds.look("alpha-DPG alpha=0.5") == theme.METHODS["alpha-DPG"]
    assert seeds.look("forward KL") == theme.METHODS["DPH-F"]
    assert seeds.look("reverse KL on D_pef")["marker"] != theme.METHODS["RKL"]["marker"]
    assert seeds.look("something else")["color"] == theme.BLACK


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("GRPO", "GRPO"),
        ("DPH-F 0.3", "DPH-F"),
        ("DPH-alpha 0.3", r"DPH-$\alpha$"),
        ("KL control mu=0.5", r"KL control, $\mu = 0.5$"),
        ("alpha-DPG alpha=0.5", r"$\alpha$-DPG, $\alpha = 0.5$"),
        ("reverse 0.3", r"reverse KL on $\mathcal{D}_{\mathrm{pef}}$"),
        ("reverse KL on D_pef", r"reverse KL on $\mathcal{D}_{\mathrm{pef}}$"),
        ("reverse KL on all prompts", "reverse KL on all prompts"),
        ("DPH-F 0.3 all", "DPH-F 0.3 all"),
        ("D_pef", r"$\mathcal{D}_{\mathrm{pef}}$"),
    ],
)
def test_labels_are_written_with_symbols(label, words):
    assert seeds.written(label) == words


@pytest.fixture
def drawing():
    return Drawing()


def test_a_curve_has_a_band_where_there_is_an_interval(drawing):
    axes = drawing.subplots()
    seeds.curve(axes, [1, 2], seeds.over_seeds([[0.5, 0.6]]), "GRPO")
    assert not axes.collections
    seeds.curve(axes, [1, 2], seeds.over_seeds([[0.5, 0.6], [0.6, 0.7]]), "GRPO", marker="none")
    assert len(axes.collections) == 1
    assert axes.get_lines()[1].get_marker() == "none"
    assert axes.get_lines()[1].get_color() == theme.VERMILLION


def test_curves_side_by_side_have_bars_where_they_have_marks_and_the_limits_of_the_data(drawing):
    axes = drawing.subplots()
    found = seeds.over_seeds([[0.5, 0.6, 0.7], [0.6, 0.7, 0.9]])
    seeds.curve(axes, [1, 2, 4], found, "GRPO", beside=3, markevery=(0, 2))
    (bars,) = axes.collections
    assert [segment[0][0] for segment in bars.get_segments()] == [1, 4]
    assert (axes.dataLim.x0, axes.dataLim.x1) == (1, 4)
    line, moved = axes.get_lines()[0].get_transform(), 3 / 72 * drawing.dpi
    assert line.transform((1, 0)) - axes.transData.transform((1, 0)) == pytest.approx([moved, 0])


def test_a_dot_has_a_bar_where_there_is_an_interval_and_the_unknown_is_not_drawn(drawing):
    axes = drawing.subplots()
    seeds.dot(axes, None, 0, "GRPO")
    assert not axes.get_lines()
    seeds.dot(axes, seeds.over_seeds([0.5]), 0, "GRPO")
    assert len(axes.get_lines()) == 1
    seeds.dot(axes, seeds.Means.of(Interval(0.5, 0.4, 0.6)), 1, "GRPO", filled=False)
    bar, point = axes.get_lines()[1:]
    assert (list(bar.get_xdata()), list(bar.get_ydata())) == ([0.4, 0.6], [1, 1])
    assert point.get_markerfacecolor() == "white"


def test_a_shared_legend_names_everything_once_in_order(drawing):
    left, right = drawing.subplots(ncols=2)
    for axes, names in ((left, ("a", "b")), (right, ("b", "c"))):
        for name in names:
            axes.plot([0, 1], [0, 1], label=name)
    seeds.legend(drawing, (left, right), 3)
    assert [text.get_text() for text in drawing.legends[0].get_texts()] == ["a", "b", "c"]
