from dataclasses import replace

from support.drawing_checks import assert_drawn
from support.small_confrontation import small_confrontation

from dph_theory.intervals import Estimate
from figures.confront.sheet import sheet
from figures.style import theme


def test_the_sheet_is_drawn_well():
    with theme.look():
        assert_drawn(sheet(small_confrontation()))


def test_the_titles_tell_the_verdicts():
    found = small_confrontation()
    best = next(line for line in found.laws if line.law == found.best_law)
    fits = replace(best, held_out=Estimate(0, 0, 0), dispersion=None)
    titles = [
        sheet(one).axes[3].get_title() for one in (found, replace(found, best_law=fits.law, laws=(fits,)))
    ]
    assert best.rejected
    assert titles == [f"held-out answers: best law {word}" for word in ("rejected", "not rejected")]


def test_a_single_k_is_drawn_too():
    found = small_confrontation()
    one = {
        name: getattr(found.curves, name)[:1] for name in ("k", "base", "run", "difference", "low", "high")
    }
    drawing = sheet(replace(found, curves=replace(found.curves, **one), parts=found.parts[:1]))
    assert len(drawing.axes[0].get_lines()[0].get_xdata()) == 1
