import numpy as np
import pytest
from scipy.special import expit
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.gallery.lottery import EXPERIMENT, FIGURE
from figures.records import Records


def seeds(baseline, deviation, count, **facts):
    """Runs whose favourites' log odds have that deviation, predicted to be so."""
    odds = deviation * np.linspace(-1.5, 1.5, count)
    common = {"experiment": EXPERIMENT, "task": "lottery-30", "optimiser": "sgd", "constant": True}
    twin = {
        "twin_favourite_share": 0.5,
        "twin_validity": 0.9,
        "group_size": 64,
        "twin_favourite_odds_deviation": deviation,
    }
    return [
        run("none", baseline=baseline, favourite_share=share, seed=i, **common | twin | facts)
        for i, share in enumerate(expit(odds))
    ]


@pytest.fixture(scope="module")
def results():
    rows = [*seeds("mean", 0.4, 40), *seeds("one", 0.002, 8), *seeds("none", 0.8, 8)]
    rows += seeds("mean", 0.5, 40, scale="group", group_size=8, groups=8)
    rows += seeds("leave_one_out", 0.4, 2)
    return FIGURE.compute(FIGURE.config, Records({"laws": law_record(rows)}))


def test_a_setting_is_its_seeds_and_two_tell_nothing(results):
    assert [(s.words, s.baseline, len(s.shares)) for s in results.settings] == [
        ("base 30, SGD", "mean", 40),
        ("base 30, SGD, 8 x 8, divided", "mean", 40),
        ("base 30, SGD", "one", 8),
        ("base 30, SGD", "none", 8),
    ]
    first = results.settings[0]
    wanted = 0.4 * np.linspace(-1.5, 1.5, 40).std(ddof=1)
    assert first.measured == pytest.approx(wanted)
    assert first.interval[0] < wanted < first.interval[1]
    assert first.interval == pytest.approx((0.8192 * wanted, 1.2840 * wanted), rel=1e-3)
    assert first.predicted == 0.4
    assert len(FIGURE.table(results).rows) == 4


def test_it_draws(results):
    assert_figure_draws("lottery", results)
