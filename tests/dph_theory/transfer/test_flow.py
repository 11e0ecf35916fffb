import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.linear_answers import linear_answers, log_odds

from dph_theory.coverage import exact_pass_at_k
from dph_theory.transfer import own_and_pair, pass_at_k_slope

PAIR = np.array([[1.0, -0.5], [-0.5, 1.0]])


def test_the_slope_of_pass_at_k_changes_sign_in_k():
    found = pass_at_k_slope(PAIR, [0.5, 0.1], [1, 5, 6], [0.25, 0.09])
    assert found == pytest.approx([0.0240500, 0.0028410, -0.0007754], abs=1e-7)
    h, rates = np.array([0.3, -0.3, 0.6]), np.array([0.02, 0.2, 0.7])
    drive = rates * (1 - rates)
    falls_between = pass_at_k_slope(np.outer(h, h) / (drive @ h), rates, [2, 4, 16], drive)
    assert falls_between == pytest.approx([0.003442, -0.020853, 0.014154], abs=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 64))
def test_the_slope_is_that_of_a_small_step(seed, k):
    kernel, *_ = linear_answers(seed)
    K, rates = kernel.log_odds
    drive = np.where(np.arange(5) < 3, rates * (1 - rates), 0.0)
    found = pass_at_k_slope(K, rates, k, drive, among=[3, 4])
    step = 1e-5
    moved = rates + rates * (1 - rates) * step * (K @ drive)
    change = exact_pass_at_k(moved, k) - exact_pass_at_k(rates, k)
    assert change[3:].mean() / step == pytest.approx(found, rel=1e-2, abs=1e-4)


def test_the_kernel_of_log_odds_is_that_of_their_gradients():
    kernel, slopes, logits, correct = linear_answers(1)
    K, rates = kernel.log_odds
    eps, base = 1e-6, log_odds(rates)
    gradient = []
    for d in range(slopes.shape[2]):
        p = np.exp(logits + eps * slopes[..., d])
        gradient.append((log_odds((p * correct).sum(1) / p.sum(1)) - base) / eps)
    assert np.array(gradient).T @ np.array(gradient) == pytest.approx(K, rel=1e-4, abs=1e-5)


def test_a_negative_pair_wins_from_some_number_of_prompts_on():
    rates = np.array([0.1, 0.2, 0.3, 0.4])
    K = np.where(np.eye(4) > 0, 1.0, -0.2)
    found = own_and_pair(K, rates, [1, 16], rates * (1 - rates))
    assert (found.own > 0).all()
    assert (found.pair < 0).all()
    drive = rates * (1 - rates)
    total = pass_at_k_slope(K, rates, [1, 16], drive)
    assert found.own + 3 * found.pair == pytest.approx(total, rel=1e-12)
    assert (found.prompts > 1).all()
    assert np.isinf(own_and_pair(np.eye(4), rates, 4, drive).prompts)
