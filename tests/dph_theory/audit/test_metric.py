from math import comb

import numpy as np
import pytest

from dph_theory.audit import MetricError, audit_metric
from dph_theory.audit.metric import expectation, known_estimators, targets, values
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


def unbiased(n, c, k):
    return 1 - comb(n - c, k) / comb(n, k)


def bootstrap(matrix, k):
    return 1 - (1 - matrix.mean(axis=1)) ** k


def any_right(matrix, k):
    return matrix.any(axis=1)


def majority_of_all(matrix, k):
    share = matrix.mean(axis=1)
    return np.where(2 * share == 1, 0.5, 2 * share > 1)


def best_of_the_first(matrix, k):
    return matrix[:, :k].max(axis=1)


def at_least_half(n, c, k):
    return sum(comb(c, i) * comb(n - c, k - i) for i in range(-(-k // 2), k + 1)) / comb(n, k)


def all_right(n, c, k):
    return comb(c, k) / comb(n, k)


@pytest.mark.parametrize(
    ("metric", "estimates"),
    [
        (unbiased, "pass@k (best@k)"),
        (lambda n, c, k: c / n, "the mean (pass@1)"),
        (best_of_the_first, "pass@k (best@k)"),
        (lambda matrix, k: matrix[:, -k:].min(axis=1), "pass^k (all@k)"),
        (all_right, "pass^k (all@k)"),
        (at_least_half, "G-Pass@k with tau = 0.5"),
    ],
)
def test_unbiased_ones_are_named(metric, estimates):
    report = audit_metric(metric, name="it")
    assert report.estimates == estimates
    assert report.verdict == f"it: an unbiased estimate of {estimates} at every p, n and k tried"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (bootstrap, "it is pass@k of answers drawn with replacement (a bootstrap)"),
        (bootstrap, "one right answer of four at k = 4 gives 0.684"),
        (any_right, "whether any of all n is right (pass@n under the name pass@k)"),
        (majority_of_all, "the majority of all n answers"),
    ],
)
def test_biased_ones_are_named_with_their_bias(metric, words):
    report = audit_metric(metric)
    assert report.estimates is None
    assert "BIASED, nearest" in report.verdict
    assert words in report.verdict


def test_the_bias_is_the_exact_one():
    report = audit_metric(bootstrap)
    found = next(b for b in report.biases if (b.n, b.k) == (4, 4))
    p = 0.25
    exact = sum(comb(4, c) * p**c * (1 - p) ** (4 - c) * (1 - (1 - c / 4) ** 4) for c in range(5))
    assert found.bias[3] == pytest.approx(exact - (1 - (1 - p) ** 4))


def test_one_that_draws_answers_is_unbiased_within_its_noise():
    rng = np.random.default_rng(0)

    def best_of_drawn(matrix, k):
        return rng.permuted(matrix, axis=1)[:, :k].max(axis=1)

    report = audit_metric(best_of_drawn)
    assert report.estimates == "pass@k (best@k)"
    assert 0 < report.within < 0.2
    assert "it draws at random" in report.verdict

    def of_too_few(matrix, k):
        return rng.permuted(matrix, axis=1)[:, : k // 2].max(axis=1)

    assert audit_metric(of_too_few).estimates is None


def test_cover_at_a_share_is_known_and_no_pass_at_k():
    report = audit_metric(lambda matrix, k: matrix.mean(axis=1) >= 0.5)
    assert report.estimates is None
    assert "Cover@tau" in report.verdict


def test_the_mean_of_g_pass_is_its_integral():
    p, k = 0.6, 4
    # tau in (1/2, 3/4] needs three of four, (3/4, 1] all.
    wanted = 2 * (0.25 * (4 * p**3 * (1 - p) + p**4) + 0.25 * p**4)
    assert targets(k)["mG-Pass@k"](np.array(p)) == pytest.approx(wanted)
