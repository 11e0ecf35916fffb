from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import stored

from dph_theory.laws import group_weight
from figures.gallery.what_your_advantage_weighs import FIGURE
from figures.records import Records


def of(results, name, size):
    (found,) = [w for w in results.weights if (w.advantage, w.group_size) == (name, size)]
    return found.weight


def test_the_weights_are_those_of_the_theory():
    results = FIGURE.compute(replace(FIGURE.quick, sizes=(4,), points=5), Records({}))
    v = results.validities
    assert v[[0, 2, 4]] == pytest.approx([0.01, 0.5, 0.99])
    assert of(results, "GRPO, sample deviation", 4) == pytest.approx(group_weight(4, v, "std"))
    assert of(results, "MaxRL", 4) == pytest.approx((1 - (1 - v) ** 3) / v)
    kept = 1 - v**4 - (1 - v) ** 4
    assert of(results, "DAPO, equal groups replaced", 4) == pytest.approx(group_weight(4, v, "std") / kept)


def test_the_table_quotes_the_ends_and_the_middle():
    results = FIGURE.compute(FIGURE.quick, Records({}))
    (row,) = [row for row in FIGURE.table(results).rows if row[0] == "PKPO, k = 4"]
    assert row == ("PKPO, k = 4", "4", *(pytest.approx(4 * (1 - v) ** 3) for v in (0.01, 0.5, 0.99)))


def test_the_committed_numbers():
    results = stored("what_your_advantage_weighs")
    assert len(results.weights) == 50
    assert np.isfinite([w.weight for w in results.weights]).all()
