from math import comb

import numpy as np
import pytest

from dph_theory.audit import MetricError, audit_metric


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda n, c, k: 1 / 0, "the metric raised ZeroDivisionError at n=4, c=0, k=4"),
        (lambda n, c, k: np.nan, "the metric is not finite at n=4, c=0"),
        (lambda a, b, c, d: 0, r"the metric takes \(a, b, c, d\): .* is needed"),
    ],
)
def test_what_fails_is_said(metric, message):
    with pytest.raises(MetricError, match=message):
        audit_metric(metric)


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


def majority_of_the_first(matrix, k):
    right = matrix[:, :k].sum(axis=1)
    return np.where(2 * right == k, 0.5, 2 * right > k)


def mean_over_thresholds(matrix, k):
    """G-Pass@k at every share of right ones above one half, by its own definition."""
    right = matrix[:, :k].sum(axis=1)
    return sum((right >= i) * 2 / k for i in range(k // 2 + 1 + k % 2, k + 1))


def all_right(n, c, k):
    return comb(c, k) / comb(n, k)


@pytest.mark.parametrize(
    ("metric", "estimates"),
    [
        (unbiased, "pass@k (best@k)"),
        (lambda n, c, k: c / n, "the mean (pass@1)"),
        (lambda matrix, k, *rest: matrix.mean(axis=1), "the mean (pass@1)"),
        (majority_of_the_first, "maj@k"),
        (mean_over_thresholds, "mG-Pass@k"),
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
        (bootstrap, "one correct answer of four at k = 4 gives 0.684"),
        (any_right, "whether any of all n is correct (pass@n under the name pass@k)"),
        (majority_of_all, "the majority of all n answers"),
        (lambda matrix, k: matrix.mean(axis=1) >= 0.5, "Cover@tau"),
    ],
)
def test_biased_ones_are_named_with_their_bias(metric, words):
    report = audit_metric(metric)
    assert report.estimates is None
    assert "BIASED, nearest" in report.verdict
    assert words in report.verdict


def test_the_bias_is_the_exact_one():
    report = audit_metric(bootstrap)
    smallest = next(b for b in report.biases if (b.n, b.k) == (4, 4))
    p = 0.25
    exact = sum(comb(4, c) * p**c * (1 - p) ** (4 - c) * (1 - (1 - c / 4) ** 4) for c in range(5))
    assert smallest.bias[3] == pytest.approx(exact - (1 - (1 - p) ** 4))


def test_one_that_draws_answers_is_unbiased_within_its_noise():
    rng = np.random.default_rng(0)

    def best_of_drawn(matrix, k):
        return rng.permuted(matrix, axis=1)[:, :k].max(axis=1)

    report = audit_metric(best_of_drawn)
    assert report.estimates == "pass@k (best@k)"
    assert 0 < report.within < 0.2
    assert "it draws at random" in report.verdict
    # Five standard errors of a hundred calls.
    assert audit_metric(lambda n, c, k: rng.random() < c / n).within == pytest.approx(0.25, rel=0.1)

    def of_too_few(matrix, k):
        return rng.permuted(matrix, axis=1)[:, : k // 2].max(axis=1)

    assert audit_metric(of_too_few).estimates is None
