"""The judge of drawings finds each flaw planted in a drawing that is sound without it."""

import pytest

from figures.style import Sheet
from support.drawing_checks import assert_drawn


@pytest.fixture
def sound():
    sheet = Sheet(width="column")
    with sheet.look():
        drawing, axes = sheet.drawing, sheet.panels()
        axes.plot([0, 1, 2, 3], [0, 1, 2, 3], label="up")
        axes.plot([0, 1, 2, 3], [0, 0, 1, 1], "--", label="less")
        axes.set(xlabel="time", ylabel="height", title="Two ways")
        axes.legend(loc="upper left")
        yield drawing, axes


def test_a_sound_drawing_passes(sound):
    assert_drawn(sound[0])


def no_x_label(drawing, axes):
    axes.set_xlabel("")


def no_y_label(drawing, axes):
    axes.set_ylabel("")


def no_legend(drawing, axes):
    axes.get_legend().remove()


def legend_on_a_curve(drawing, axes):
    axes.legend(loc="upper right")


def legend_on_points(drawing, axes):
    axes.scatter([0.2, 0.3, 0.4], [2.7, 2.8, 2.7])


def legend_on_bars(drawing, axes):
    axes.bar([0.3, 0.5], [3, 3], width=0.1)


def cut_off(drawing, axes):
    text = axes.text(3.2, 1, "a long remark that leaves the canvas")
    text.set_in_layout(False)


def overlapping(drawing, axes):
    axes.text(2, 0.2, "one remark")
    axes.text(2.1, 0.21, "another")


def overlapping_upright(drawing, axes):
    axes.text(2, 0.2, "one remark", rotation=90)
    axes.text(2, 0.4, "another")


def nothing_drawn(drawing, axes):
    drawing.add_axes((0.5, 0.3, 0.2, 0.2))


@pytest.mark.parametrize(
    ("flaw", "words"),
    [
        (no_x_label, "no x label"),
        (no_y_label, "no y label"),
        (no_legend, "no legend"),
        (legend_on_a_curve, "the legend lies on"),
        (legend_on_points, "the legend lies on"),
        (legend_on_bars, "the legend lies on"),
        (cut_off, "cut off"),
        (overlapping, "overlapping"),
        (overlapping_upright, "overlapping"),
        (nothing_drawn, "nothing drawn"),
    ],
)
@pytest.mark.filterwarnings("ignore:This figure includes Axes")
def test_a_flaw_is_found(sound, flaw, words):
    flaw(*sound)
    with pytest.raises(AssertionError, match=words):
        assert_drawn(sound[0])


def test_slanted_words_side_by_side_do_not_overlap(sound):
    drawing, axes = sound
    axes.text(2.0, 0.2, "one remark", rotation=45)
    axes.text(2.4, 0.2, "another one", rotation=45)
    assert_drawn(drawing)
