from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws
from support.law_record import law_record, run

from figures.gallery.laws import FIGURE
from figures.records import Records


@pytest.fixture(scope="module")
def results():
    forms = ("k3", "k3_corrected", "k2", "sequence_kl")
    stored = law_record([run(form, beta) for beta in (1.0, 0.2) for form in forms])
    return FIGURE.compute(FIGURE.quick, Records({"laws": stored}))


def test_the_limits_and_the_laws_are_those_of_the_theory(results):
    assert [law.limit for law in results.laws] == pytest.approx([0.675, 0.5, 0.9], abs=5e-4)
    for law in results.laws:
        assert law.first_share[0] == pytest.approx(law.limit, abs=0.01)
        assert law.validity[0] > 0.98
    assert results.laws[2].first_share == pytest.approx(np.full(20, 0.9))


def test_the_law_predicted_is_compared_with_its_rivals(results):
    rows = FIGURE.table(results).rows
    assert [row[2] == row[3] for row in rows] == [True] * 4
    assert [row[2] for row in rows[:2]] == ["token forward KL", "token reverse KL"]
    first, *others = results.matrix
    changed = replace(results, matrix=(replace(first, kl=np.array([1.0, 0.3, 0.4])), *others))
    assert FIGURE.table(changed).rows[0][3] == "token reverse KL"


def test_it_draws(results):
    assert len(results.points) == 6
    assert_figure_draws("laws", results)
