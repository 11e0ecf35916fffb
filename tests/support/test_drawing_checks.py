"""The judge of drawings finds each flaw planted in a drawing that is sound without it."""

import pytest

from figures.style import Sheet
from support.drawing_checks import assert_drawn


@pytest.fixture
def sound():
    sheet = Sheet(width="column")
    with sheet.look():
        axes = sheet.panels()
        axes.plot([0, 1, 2, 3], [0, 1, 2, 3], label="up")
        axes.plot([0, 1, 2, 3], [0, 0, 1, 1], "--", label="less")
        axes.set(xlabel="time", ylabel="height", title="Two ways")
        axes.legend(loc="upper left")
        yield axes


@pytest.mark.parametrize(("flaw", "words"), [
    (lambda axes: axes.set_xlabel(""), "no x label"), (lambda axes: axes.set_ylabel(""), "no y label"),
    (lambda axes: axes.get_legend().remove(), "no legend"),
    (lambda axes: axes.legend(loc="upper right"), "the legend lies on"),
    (lambda axes: axes.scatter([0.2, 0.3, 0.4], [2.7, 2.8, 2.7]), "the legend lies on"),
    (lambda axes: axes.bar([0.3, 0.5], [3, 3], width=0.1), "the legend lies on"),
    (lambda axes: axes.text(3.2, 1, "a long remark off the canvas", in_layout=False), "cut off"),
    (lambda axes: (axes.text(2, 0.2, "one remark"), axes.text(2.1, 0.21, "another")), "overlapping"),
    (lambda axes: (axes.text(2, 0.2, "a remark", rotation=90), axes.text(2, 0.4, "one")), "overlapping"),
    (lambda axes: axes.figure.add_axes((0.5, 0.3, 0.2, 0.2)), "nothing drawn"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:This figure includes Axes")
def test_a_flaw_is_found(sound, flaw, words):
    flaw(sound)
    with pytest.raises(AssertionError, match=words):
        assert_drawn(sound.figure)


def test_a_sound_drawing_passes_with_slanted_words_side_by_side(sound):
    sound.text(2.0, 0.2, "one remark", rotation=45)
    sound.text(2.4, 0.2, "another one", rotation=45)
    assert_drawn(sound.figure)
