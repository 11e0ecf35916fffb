import math

import numpy as np
import pytest
from scipy import stats

from dph_theory.intervals import THREE_SIGMA, MeanEstimate, mean_estimate
from full_scale.validation.verdicts import decide, judged_line


def gap(value, error, units=1000, bias=0.0):
    return MeanEstimate(value, error, units, bias)


def test_mean_and_its_standard_error_which_one_unit_has_not():
    found = mean_estimate([1.0, 2.0, 4.0, 5.0])
    assert (found.value, found.units) == (3, 4)
    assert found.standard_error == pytest.approx(math.sqrt(10 / 3) / 2, rel=1e-15)
    assert mean_estimate([0.3]).standard_error == mean_estimate([0.3]).margin() == math.inf
    for values in ([], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"values\.shape"):
            mean_estimate(np.array(values))


def test_margin_is_three_standard_deviations_for_many_units_and_more_for_few():
    assert gap(0, 1, 10**9).margin() == pytest.approx(3.0, abs=1e-3)
    assert gap(0, 1, 3).margin() == pytest.approx(stats.t.ppf(1 - THREE_SIGMA / 2, 2), rel=1e-12)
    assert gap(0, 1, 3).margin() > 19
    assert gap(0, 1, 1).margin() == math.inf
    assert gap(0, 1, 50, bias=0.25).margin() == pytest.approx(gap(0, 1, 50).margin() + 0.25)
    assert gap(0, 1, 50).margin(tests=40) > gap(0, 1, 50).margin()


@pytest.mark.parametrize(
    ("gap", "relation", "tests", "verdict"),
    [
        (gap(0.0, 0.01), "==", 1, "consistent"),
        # Gaps of rounding alone, beyond margins that are smaller still.
        (gap(-3.6e-8, 1e-8), ">=", 1, "consistent"),
        (gap(3.6e-8, 0.0), "==", 1, "consistent"),
        (gap(-0.002, 1e-8), ">=", 1, "inconsistent"),
        (gap(0.04, 0.01), "==", 1, "inconsistent"),
        (gap(-0.04, 0.01), "==", 1, "inconsistent"),
        (gap(0.0, 0.1), "==", 1, "not enough samples"),
        (gap(9.0, 0.1), ">=", 1, "consistent"),
        (gap(-0.04, 0.01), ">=", 1, "inconsistent"),
        (gap(0.2, 0.1), ">=", 1, "not enough samples"),
        (gap(0.0, math.inf), "==", 1, "not enough samples"),
        # A bias excuses what it may have caused; the worst of many is judged more gently.
        (gap(-0.05, 0.01, bias=0.03), ">=", 1, "consistent"),
        (gap(-0.035, 0.01), ">=", 1, "inconsistent"),
        (gap(-0.035, 0.01), ">=", 100, "consistent"),
    ],
)
def test_the_rule(gap, relation, tests, verdict):
    assert decide(gap, relation, 0.1, tests) == verdict
    line = judged_line("x", "frontier", gap, relation, 1.0, 0.1, tests=tests)
    assert (line.verdict, line.margin) == (verdict, gap.margin(tests))
    assert line.estimate == pytest.approx(1.0 + gap.value, nan_ok=True)
