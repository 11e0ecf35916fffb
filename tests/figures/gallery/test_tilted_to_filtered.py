from dataclasses import replace

import numpy as np
import pytest

from figures.gallery.tilted_to_filtered import FIGURE
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    return FIGURE.compute(FIGURE.quick, Records({}))


def test_the_distances_are_those_of_the_pass_rate(results):
    rate = np.dot(FIGURE.quick.base, FIGURE.quick.valid)
    mu = 1 / (1 + (1 - rate) / rate * np.exp(-1 / results.betas))
    assert results.total_variation == pytest.approx(1 - mu, abs=1e-12)
    assert results.forward == pytest.approx(-np.log(mu), abs=1e-12)
    assert np.isinf(results.reverse).all()


def test_the_shown_laws_are_mixtures_of_the_two_conditionals(results):
    base, valid = np.array(FIGURE.quick.base), np.array(FIGURE.quick.valid)
    for beta, law in zip(FIGURE.quick.shown, results.tilted, strict=True):
        mu = law[valid].sum()
        parts = np.where(valid, mu * base / base[valid].sum(), (1 - mu) * base / base[~valid].sum())
        assert law == pytest.approx(parts, abs=1e-12)
        odds = mu / (1 - mu) * base[~valid].sum() / base[valid].sum()
        assert np.log(odds) == pytest.approx(1 / beta)


def test_the_table_has_what_is_infinite(results):
    assert [row[3] for row in FIGURE.table(results).rows] == [np.inf, np.inf]
    changed = replace(results, reverse=np.array([0.1, *results.reverse[1:]]))
    assert [row[3] for row in FIGURE.table(changed).rows] == [0.1, np.inf]
