import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from figures.style import theme
from figures.style.venues import VENUES


def test_the_look_ends_where_it_ends():
    before = dict(mpl.rcParams)
    with theme.look():
        assert mpl.rcParams["font.size"] == 8
    assert dict(mpl.rcParams) == before


def test_a_venue_has_its_width_and_its_fonts_and_words_shrink_with_the_drawing():
    with theme.look(VENUES["neurips"]):
        drawing, _ = theme.new(height=2.4)
        assert drawing.get_size_inches() == pytest.approx([5.5, 2.4 * 5.5 / 6.9])
        assert mpl.rcParams["font.size"] == pytest.approx(8 * 5.5 / 6.9) == theme.points(8)
        assert mpl.rcParams["font.family"] == ["STIXGeneral"]
    assert theme.points(8) == 8


def test_methods_can_be_told_apart_without_colour():
    looks = [(str(look["linestyle"]), look["marker"]) for look in theme.METHODS.values()]
    assert len(looks) == len(set(looks))
    colours = [look["color"] for look in theme.METHODS.values()]
    assert len(colours) == len(set(colours))


def test_widths_and_panels():
    drawing, axes = theme.new(theme.ONE_COLUMN, 2.0, ncols=2)
    assert drawing.get_size_inches() == pytest.approx([3.35, 2.0])
    assert len(axes) == 2


def test_a_band_is_drawn_around_its_curve():
    _, axes = theme.new()
    theme.band(axes, [0, 1, 2], [0.0, 0.5, 1.0], [1.0, 1.5, 2.0], theme.BLUE)
    (area,) = axes.collections
    assert area.get_datalim(axes.transData).bounds == pytest.approx((0, 0, 2, 2))
    assert area.get_facecolor()[0, :3] == pytest.approx(to_rgb(theme.BLUE))


def test_fonts_are_embedded_and_the_same_drawing_gives_the_same_bytes():
    def written(form):
        with theme.look():
            drawing, axes = theme.new()
            axes.plot([0, 1], label=r"$\mu$")
            axes.legend()
            file = io.BytesIO()
            metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}[form]
            drawing.savefig(file, format=form, metadata=metadata)
        return file.getvalue()

    assert b"/FontFile2" in written("pdf")
    assert b"<text" not in written("svg")
    assert written("svg") == written("svg")
    assert written("pdf") == written("pdf")


def test_a_figure_leaves_no_global_state():
    import matplotlib.pyplot as plt

    theme.new()
    assert plt.get_fignums() == []
    assert np.isfinite(theme.TWO_COLUMNS)
