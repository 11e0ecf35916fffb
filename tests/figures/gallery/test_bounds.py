from dataclasses import replace

import numpy as np
import pytest

from figures.gallery.bounds import FIGURE, overshoot
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def test_the_bounds_in_closed_form(results):
    path = results.path
    p = path.p
    old, pef, gamma = 0.5, 0.54, 0.9
    truth, trpo = 10 * p, 10 * p - 4 * 0.5 * gamma * (p - old) ** 2 / 0.01
    assert path.truth == pytest.approx(truth, abs=1e-9)
    assert path.trpo == pytest.approx(trpo, abs=1e-9)
    assert path.anchor == pytest.approx(10 * pef - 10 * abs(p - pef), abs=1e-9)
    near_old = p * np.log(p / old) + (1 - p) * np.log((1 - p) / old)
    near_pef = pef * np.log(pef / p) + (1 - pef) * np.log((1 - pef) / (1 - p))
    stated = truth + 10 * (pef - old) - 2 * gamma * (near_old * 0.5 + near_pef * 0.54) / 0.01
    assert path.stated == pytest.approx(stated, abs=1e-9)


def test_the_counterexample_of_the_theory(results):
    found = results.at_old
    assert [round(found[name], 4) for name in ("forward_kl", "reverse_kl", "jensen_shannon")] == [
        0.0886,
        0.0880,
        0.0884,
    ]


def test_the_stated_bound_crosses_the_truth_twice(results):
    first, second = results.path.crossings
    assert first < 0.5 < second
    for crossing in (first, second):
        assert overshoot(0.9, crossing, 0.5, 0.54) == pytest.approx(0, abs=1e-9)
    assert overshoot(0.9, first - 1e-3, 0.5, 0.54) < 0 < overshoot(0.9, first + 1e-3, 0.5, 0.54)


def test_the_overshoot_is_of_first_order_at_every_discount(results):
    for over in results.overshoot:
        assert over[0] == pytest.approx(results.steps[0], rel=0.03)
        assert over[-1] < 0


def test_the_rehearsal_guarantee(results):
    rehearsal = results.rehearsal
    assert rehearsal.example_rate == pytest.approx(0.55)
    assert rehearsal.example_guarantee == pytest.approx(0.546681036972, abs=1e-12)
    assert rehearsal.filtered == pytest.approx(rehearsal.rate, abs=1e-12)
    assert (rehearsal.collapsed <= rehearsal.rate + 1e-12).all()
    assert rehearsal.collapsed[-1] == 0


def test_the_table_has_the_largest_excess_over_the_truth(results):
    truth = results.path.truth
    stated, trpo, *_ = FIGURE.table(
        replace(results, path=replace(results.path, stated=truth - 1, trpo=truth + 2))
    ).rows
    assert (stated[2], trpo[2]) == pytest.approx((-1, 2))
