from dataclasses import replace

from support.drawing_checks import assert_drawn
from support.small_confrontation import small_confrontation

from dph_theory.counts import Together
from dph_theory.counts.together import RunAmong
from dph_theory.intervals import Estimate
from figures.confront.sheet import sheet, together_sheet
from figures.style import theme


def test_the_sheet_is_drawn_well():
    with theme.look():
        assert_drawn(sheet(small_confrontation()))


def test_the_titles_tell_the_verdicts():
    found = small_confrontation()
    best = found.best
    fits = replace(best, held_out=Estimate(0, 0, 0), dispersion=Estimate(1, 0.9, 1.1))
    titles = [sheet(one).axes[3].get_title() for one in (found, replace(found, laws=(fits,)))]
    assert best.rejected
    assert titles == [f"held-out answers: best law {word}" for word in ("rejected", "not rejected")]


def test_a_single_k_is_drawn_too():
    found = small_confrontation()
    one = {
        name: getattr(found.curves, name)[:1] for name in ("k", "base", "run", "difference", "low", "high")
    }
    drawing = sheet(replace(found, curves=replace(found.curves, **one), parts=found.parts[:1]))
    assert len(drawing.axes[0].get_lines()[0].get_xdata()) == 1


def test_runs_together_are_rows_with_intervals_and_steps_are_curves_with_bands():
    changes = Estimate(0.1, 0.05, 0.2), Estimate(-0.3, -0.4, -0.1)
    runs = tuple(RunAmong(name, None, changes, 1, 0) for name in "ab")
    drawing = together_sheet(Together("base", 9, (1, 4), runs, changes))
    bars = [tuple(line.get_xdata()) for line in drawing.axes[1].get_lines() if len(line.get_xdata()) == 2]
    assert bars.count((-0.4, -0.1)) == 3
    assert [word.get_text() for word in drawing.axes[0].get_yticklabels()] == ["a", "b", "mean of the seeds"]
    steps = tuple(replace(runs[0], step=step) for step in (10, 20))
    along = together_sheet(Together("base", 9, (1, 4), steps))
    drawn = along.axes[1]
    lows = drawn.collections[0].get_paths()[0].vertices
    assert (lows[:, 1].min(), lows[:, 1].max()) == (-0.4, -0.1)
    assert list(drawn.get_lines()[1].get_xdata()) == [10, 20]
    with theme.look():
        for each in (drawing, along):
            assert_drawn(each)
