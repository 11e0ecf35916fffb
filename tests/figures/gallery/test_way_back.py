from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.gallery.way_back import FIGURE, LOOKS
from figures.records import Records


def stored(forms=("sequence_kl", "k3_corrected", "rehearsal", "alpha_dpg")):
    """Runs whose lost answers come back: on policy in ten units of flow time, rehearsed in one."""
    slow = {"rehearsal": 1.0, "alpha_dpg": 0.2, "sequence_kl": 10.0, "k3_corrected": 10.0}
    made = [(form, lost, f"{form} {lost}") for lost in (0.001, 0.01) for form in forms]
    rows = [
        run(form, experiment="way_back", digest=digest, learning_rate=0.06 if form == "alpha_dpg" else 0.3)
        for form, _, digest in made
    ]
    courses = [
        {"digest": digest, "step": [0, 10, 20], "lost_share": [0.01, 0.03, 0.05]} for _, _, digest in made
    ]
    ways = [
        {"digest": digest, "flow": place, "half_time": slow[form] / 5}
        for place, (form, _, digest) in enumerate(made)
    ]
    flows = [
        {
            "form": form,
            "lost": lost,
            "collapsed": False,
            "half_time": slow[form],
            "times": [0.0, 10.0, 20.0],
            "shares": [lost, 2 * lost, 3 * lost],
        }
        for form, lost, _ in made
    ]
    return law_record(rows, courses, ways, flows)


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.config, Records({"laws": stored()}))


def test_a_panel_a_start_and_how_much_later(results):
    assert [panel.lost for panel in results.panels] == [0.01, 0.001]
    assert results.factor == pytest.approx(5.0)
    (_, _, late, flow, *back) = FIGURE.table(results).rows[0]
    assert (late, flow) == pytest.approx((10.0, 10.0))
    assert back == ["2 of 2", "1 of 1", "1 of 1"]
    first, *others = results.panels
    missed = (replace(first.ways[0], run_half=None), *first.ways[1:])
    changed = replace(results, panels=(replace(first, ways=missed), *others))
    assert FIGURE.table(changed).rows[0][4] == "1 of 2"


def test_a_record_without_them_names_the_command():
    with pytest.raises(ValueError, match="dph laws --only way_back makes them"):
        FIGURE.compute(FIGURE.config, Records({"laws": law_record([run("k3")])}))


def test_it_draws(results):
    assert_figure_draws("way_back", results)


def test_three_starts_are_drawn_with_medians_and_bands_of_the_runs(results):
    first = results.panels[0]
    starts = ((False, 0.03), (False, 0.01), (False, 0.0001), (True, 0.01), (True, 0.001))
    many = replace(results, panels=tuple(replace(first, collapsed=c, lost=lost) for c, lost in starts))
    axes = FIGURE.draw(FIGURE.config, many).axes
    titles = [ax.get_title() for ax in axes]
    assert titles == ["0.01 left by a fit", "0.0001 left by a fit", "0.001 left by training"]
    several = [form for form in LOOKS if sum(way.form == form for way in first.ways) > 0]
    assert len(axes[0].collections) == len(several)
    assert len(axes[0].lines) == 2 * len(several)
    of = [way for way in first.ways if way.form == several[0]]
    shares = np.array([np.interp(of[0].times, way.times, way.shares) for way in of])
    assert axes[0].lines[0].get_ydata() == pytest.approx(np.median(shares, axis=0))


def test_the_stored_shares_are_of_the_lost_answers_and_tell_points_apart():
    way_back = FIGURE.read(FIGURE.stored())[1]
    hardly = [way.shares for panel in way_back.panels if panel.lost == 0.0001 for way in panel.ways]
    # Shares of 1e-4 that are one less a number of five digits would be two values or three.
    assert min(len(np.unique(shares)) / len(shares) for shares in hardly) > 0.5
