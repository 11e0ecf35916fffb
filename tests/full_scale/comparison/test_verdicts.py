import math

import numpy as np
import pytest
from scipy import stats

from full_scale.comparison.verdicts import LEVEL, Judgement, MeanEstimate, decide, held, mean


def gap(value, error, units=1000, bias=0.0):
    return MeanEstimate(value, error, units, bias)


def test_mean_and_its_standard_error():
    found = mean([1.0, 2.0, 4.0, 5.0])
    assert found.value == 3
    assert found.standard_error == pytest.approx(math.sqrt(10 / 3) / 2, rel=1e-15)
    assert found.units == 4


def test_one_unit_has_no_standard_error():
    assert mean([0.3]).standard_error == math.inf
    assert mean([0.3]).margin() == math.inf


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]]])
def test_mean_of_something_else(values):
    with pytest.raises(ValueError, match=r"values\.shape"):
        mean(np.array(values))


def test_margin_is_three_standard_deviations_for_many_units_and_more_for_few():
    assert gap(0, 1, 10**9).margin() == pytest.approx(3.0, abs=1e-3)
    assert gap(0, 1, 3).margin() == pytest.approx(stats.t.ppf(1 - LEVEL / 2, 2), rel=1e-12)
    assert gap(0, 1, 3).margin() > 19
    assert gap(0, 1, 50, bias=0.25).margin() == pytest.approx(gap(0, 1, 50).margin() + 0.25)
    assert gap(0, 1, 50).margin(tests=40) > gap(0, 1, 50).margin()


@pytest.mark.parametrize(
    ("value", "error", "relation", "verdict"),
    [
        (0.0, 0.01, "==", "consistent"),
        (0.02, 0.01, "==", "consistent"),
        (0.04, 0.01, "==", "inconsistent"),
        (-0.04, 0.01, "==", "inconsistent"),
        (0.0, 0.1, "==", "not enough samples"),
        (9.0, 0.1, "==", "inconsistent"),
        (9.0, 0.1, ">=", "consistent"),
        (-0.04, 0.01, ">=", "inconsistent"),
        (-0.02, 0.01, ">=", "consistent"),
        (0.2, 0.1, ">=", "not enough samples"),
        (0.0, math.inf, "==", "not enough samples"),
        (math.nan, 0.01, "==", "not enough samples"),
    ],
)
def test_the_rule(value, error, relation, verdict):
    assert decide(gap(value, error), relation, resolution=0.1) == verdict


def test_bias_excuses_what_it_may_have_caused():
    assert decide(gap(-0.05, 0.01), ">=", 0.1) == Judgement.INCONSISTENT
    assert decide(gap(-0.05, 0.01, bias=0.03), ">=", 0.1) == Judgement.CONSISTENT


def test_the_worst_of_many_is_judged_more_gently():
    assert decide(gap(-0.035, 0.01), ">=", 0.1) == Judgement.INCONSISTENT
    assert decide(gap(-0.035, 0.01), ">=", 0.1, tests=100) == Judgement.CONSISTENT


def test_true_predictions_are_called_inconsistent_at_the_stated_rate():
    rng = np.random.default_rng(0)
    for units in (3, 8, 30):
        gaps = [mean(rng.normal(size=units)) for _ in range(4000)]
        share = np.mean([decide(g, "==", 10.0) == Judgement.INCONSISTENT for g in gaps])
        assert share < LEVEL + 4 * math.sqrt(LEVEL / 4000)


def test_what_is_held_becomes_a_judged_line():
    line = held("x", "A8", gap(0.5, 0.01), ">=", 1.0, resolution=0.1)
    assert line.verdict == "consistent"
    assert (line.estimate, line.margin) == (1.5, gap(0.5, 0.01).margin())
