import numpy as np
import pytest

from dph_theory.audit.metrics import MetricError
from dph_theory.audit.metrics.enumeration import expectation, known_estimators, targets, values
from dph_theory.coverage import exact_pass_at_k


def test_the_expectation_of_the_count_is_the_rate():
    p = np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(expectation(np.arange(6) / 5, p), p, atol=1e-15)


def test_targets_are_the_definitions():
    p = np.array([0.1, 0.6])
    np.testing.assert_allclose(targets(4)["pass@k (best@k)"](p), exact_pass_at_k(p, 4))
    np.testing.assert_allclose(targets(3)["maj@k"](p), 3 * p**2 * (1 - p) + p**3)


def test_counts_and_matrices_are_both_taken():
    by_count = values(lambda n, c, k: c / n, 5, 2)
    by_matrix = values(lambda matrix, k, *rest: matrix.mean(axis=1), 5, 2)
    np.testing.assert_allclose(by_count, by_matrix)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda n, c, k: 1 / 0, "raised ZeroDivisionError at n=4, c=0, k=2"),
        (lambda n, c, k: np.nan, "not finite at n=4, c=0"),
        (lambda a, b, c, d: 0, "is needed"),
    ],
)
def test_what_fails_is_said(metric, message):
    with pytest.raises(MetricError, match=message):
        values(metric, 4, 2)


def test_the_known_bootstrap_is_the_plug_in():
    label = "pass@k of answers drawn with replacement (a bootstrap): 1 - (1 - c/n)^k"
    assert known_estimators(4, 4)[label][1] == pytest.approx(0.684, abs=5e-4)
