from math import comb

import numpy as np
import pytest

from dph_theory.audit import MetricError, audit_metric


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda n, c, k: 1 / 0, "the metric raised ZeroDivisionError at n=9, c=0, k=3"),
        (lambda n, c, k: np.nan, "the metric is not finite at n=9, c=0"),
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
    tried = "tried at p from 0.01 to 0.9, n from 4 to 16 and k from 2 to 8"
    assert report.verdict.startswith(f"it: an unbiased estimate of {estimates}, {tried}")
    # All but counts and means over all answers look at some of them only.
    first = metric in (majority_of_the_first, mean_over_thresholds, best_of_the_first) or "all@k" in estimates
    assert (report.spread > 1) == ("times the variance of the mean over all choices of k" in report.verdict)
    assert report.spread < 1.01 or first


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
    assert "it draws: the mean of its draws, within 0.1" in report.verdict
    # Five standard errors of a hundred calls.
    assert audit_metric(lambda n, c, k: rng.random() < c / n).within == pytest.approx(0.25, rel=0.1)

    def of_too_few(matrix, k):
        return rng.permuted(matrix, axis=1)[:, : k // 2].max(axis=1)

    assert audit_metric(of_too_few).estimates is None


def one_by_default(n, c, k):
    return 1.0 if n - c < k else 1 - comb(n - c, k) / comb(n, k)


def test_k_above_n_is_tried_where_nothing_is_right():
    assert audit_metric(one_by_default).verdict.endswith(
        "k > n is not refused: 4 wrong answers give 1.000 at k = 8"
    )
    assert "k > n" not in audit_metric(best_of_the_first).verdict

    def refusing(n, c, k):
        if k > n:
            raise ValueError("k > n")
        return unbiased(n, c, k)

    assert "not refused" not in audit_metric(refusing).verdict


def by_the_first_answers(correct, k):
    return float(any(correct[:k]))


def by_counting(correct: list[bool], k: int) -> float:
    n, c = len(correct), sum(correct)
    return 1.0 if n - c < k else 1 - comb(n - c, k) / comb(n, k)


class Unhashable:
    """An object that can be called."""

    __hash__ = None

    def __call__(self, n, c, k):
        return unbiased(n, c, k)


def test_an_object_that_can_be_called_is_audited():
    assert audit_metric(Unhashable()).estimates == "pass@k (best@k)"


def by_an_array_of_one_problem(correct, k):
    """Of a matrix of one row it would count one answer, and be wrong without an error."""
    n, c = len(correct), int(np.sum(correct))
    return 1.0 if n - c < k else 1 - comb(n - c, k) / comb(n, k)


@pytest.mark.parametrize("metric", [by_the_first_answers, by_counting, by_an_array_of_one_problem])
def test_a_metric_may_take_the_list_of_one_problem_s_answers(metric):
    report = audit_metric(metric)
    assert report.estimates == "pass@k (best@k)"
    # The first k of n answers vary more than the mean over all choices of k.
    assert (report.spread > 2) == (metric is by_the_first_answers)
