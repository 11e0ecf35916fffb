from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import factorial, softmax

from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.dynamics import (
    SmallNoiseWarning,
    drift_deviation,
    excess_by_luck,
    flow,
    pass_rate_along,
    saturation,
    spread_at_law,
)
from dph_theory.dynamics.answers import less, update
from dph_theory.laws import normalised_validities


def noise_along(base, valid, times, *, step, answers, form="none", beta=0.0, baseline="mean"):
    """A decision's noiseless logits at the times, and the covariance that N answers a step give them.

    d Sigma/d tau = J Sigma + Sigma J^T + (eta/N) C, J the slope of the expected update and C the covariance
    of one answer's. Returns logits (times, outcomes) and covariances (times, outcomes, outcomes).
    """
    log_base, verdicts, n = np.log(np.asarray(base)), np.asarray(valid, dtype=float), len(base)
    advantage = less(baseline)

    def terms(theta):
        """The policy, each answer's coefficient, and the expected update; for complex logits too."""
        p = np.exp(theta) / np.exp(theta).sum()
        rows = np.log(p)[:, None], log_base[:, None]
        pull = update(np, *rows, verdicts, form=form, beta=beta, advantage=advantage)[1][:, 0]
        return p, pull, p * (pull - (p * pull).sum())

    def slope(_, state):
        theta, sigma = state[:n], state[n:].reshape(n, n)
        p, pull, mean = terms(theta)
        jacobian = np.stack([terms(theta + 1e-30j * row)[2].imag / 1e-30 for row in np.eye(n)], axis=1)
        spread = (p * pull**2)[:, None] * (np.eye(n) - p)
        covariance = (np.eye(n) - p).T @ spread - np.outer(mean, mean)
        return np.concatenate([mean, (jacobian @ sigma + sigma @ jacobian.T + covariance).ravel()])

    start = np.concatenate([log_base, np.zeros(n * n)])
    span = (0.0, times[-1])
    found = solve_ivp(slope, span, start, t_eval=times, method="LSODA", rtol=1e-9, atol=1e-13)
    # The equation is linear in the noise: it is solved for one unit of it.
    return found.y[:n].T, step / answers * found.y[n:].T.reshape(-1, n, n)


def log_ratio_deviation(covariance):
    """The deviation of the log ratio of the first two outcomes from covariances (..., outcomes, outcomes)."""
    variance = covariance[..., 0, 0] + covariance[..., 1, 1] - 2 * covariance[..., 0, 1]
    return np.sqrt(np.maximum(variance, 0.0))


DRIFT = {"valid": 2, "invalid": 8, "step": 0.02, "answers": 64}


def drift(base_rate, reached=0.9, **changes):
    return float(drift_deviation(base_rate, reached, **DRIFT | changes))


def test_values_of_the_theory():
    assert drift(0.3) == pytest.approx(0.150699, abs=1e-6)
    assert drift(0.1) == pytest.approx(0.536074, abs=1e-6)
    assert drift(0.3, baseline="none") == pytest.approx(0.28207, abs=1e-5)
    assert drift(0.3, baseline="one") == 0
    with pytest.warns(SmallNoiseWarning, match="30% too large"):
        assert drift(0.1, step=0.1) == pytest.approx(1.199, abs=5e-4)


def test_shapes_broadcast():
    found = drift_deviation([[0.3], [0.1]], [0.5, 0.9], **DRIFT)
    assert found.shape == (2, 2)
    assert found[:, 1] == pytest.approx([drift(0.3), drift(0.1)])


def test_groups_that_are_normalised():
    found = [drift(0.3, step=0.01, group_size=size) for size in (64, 8, 4)]
    assert found == pytest.approx([0.154, 0.1527, 0.1429], abs=5e-5)
    assert drift(0.3, step=0.01) == pytest.approx(0.1066, abs=5e-5)


def test_it_is_the_covariance_along_the_flow():
    base, valid = np.r_[[0.15] * 2, [0.7 / 8] * 8], np.r_[[1, 1], np.zeros(8)]
    times = np.linspace(0, 40, 801)
    for baseline in ("none", "mean", "one"):
        logits, covariance = noise_along(base, valid, times, step=0.02, answers=64, baseline=baseline)
        policy = np.exp(logits)
        validity = policy[:, :2].sum(axis=1) / policy.sum(axis=1)
        there = np.interp(0.9, validity, log_ratio_deviation(covariance))
        assert there == pytest.approx(drift(0.3, baseline=baseline), rel=1e-5, abs=1e-9)


@given(st.floats(0.01, 0.5), st.floats(0.55, 0.95), st.integers(2, 6), st.integers(1, 30))
def test_the_drift_falls_with_the_baseline_and_grows_on_the_way(base_rate, reached, valid, invalid):
    setting = {"valid": valid, "invalid": invalid, "step": 1e-7, "answers": 64}
    none, mean, one = (
        drift_deviation(base_rate, reached, **setting, baseline=c) for c in ("none", "mean", "one")
    )
    assert none > mean > one == 0
    assert drift_deviation(base_rate, (base_rate + reached) / 2, **setting) < mean
    assert drift_deviation(base_rate, base_rate, **setting) == 0


def test_the_noise_at_a_law():
    found = spread_at_law(0.7, [0.5, 0.2], form="k2", step=1.0, answers=1)
    assert found == pytest.approx([0.134810, 0.151782], abs=1e-6)
    found = spread_at_law(0.7, [0.5, 0.2], form="k3_corrected", step=0.2, answers=32)
    assert found == pytest.approx([0.0107, 0.0120], abs=5e-5)
    assert spread_at_law(0.7, 0.5, form="sequence_kl", step=1.0, answers=1) == 0


@pytest.mark.parametrize("form", ["k2", "k3", "sequence_kl"])
def test_the_noise_at_a_law_is_where_the_covariance_ends(form):
    _, covariance = noise_along(
        [0.35, 0.35, 0.3], [1, 1, 0], [0.0, 600.0], step=0.2, answers=32, form=form, beta=0.5
    )
    ends = log_ratio_deviation(covariance[-1])
    assert ends == pytest.approx(float(spread_at_law(0.7, 0.5, form=form, step=0.2, answers=32)), abs=1e-7)


def test_saturation_is_none_without_noise():
    assert saturation([0.0, 0.536, 1.2]) == pytest.approx([0.0, 0.0861, 0.3053], abs=1e-3)


def test_what_luck_costs_is_the_kl_of_the_shares_it_sets_apart():
    rng = np.random.default_rng(0)
    for right, step in ((2, 0.02), (5, 0.005)):
        setting = {"valid": right, "invalid": 8, "step": step, "answers": 64}
        deviation = float(drift_deviation(0.3, 0.9, **setting))
        logits = rng.normal(0, deviation / np.sqrt(2), (100_000, right))
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        wanted = 0.9 * (shares * np.log(shares * right)).sum(axis=1).mean()
        assert float(excess_by_luck(0.3, 0.9, **setting)) == pytest.approx(wanted, rel=0.03)
    assert excess_by_luck(0.3, 0.2, **setting) == 0


def test_the_pass_rate_rises_as_the_flow_of_its_logits():
    base = np.array([0.15, 0.15, *[0.7 / 5] * 5])
    valid, times = [1, 1, 0, 0, 0, 0, 0], np.array([0.0, 3.0, 30.0, 300.0])
    setting = {"valid": 2, "invalid": 5}
    for form, divergence in (("sequence_kl", REVERSE_KL), ("k3", FORWARD_KL)):
        wanted = [law[:2].sum() for (law,) in flow([base], valid, times, form=form, beta=0.3)]
        found = pass_rate_along(0.3, times, **setting, beta=0.3, divergence=divergence)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    free = pass_rate_along(0.3, times, **setting)
    np.testing.assert_allclose(
        free, [law[:2].sum() for (law,) in flow([base], valid, times, form="none")], rtol=1e-6
    )


def test_the_pass_rate_ends_at_the_law_of_normalised_advantages():
    found = pass_rate_along(0.3, [1e5], valid=2, invalid=5, beta=0.5, group_size=8, scale="std")
    wanted = normalised_validities(0.3, 0.5, 8, "std", REVERSE_KL)[0].validity
    assert found[0] == pytest.approx(wanted, rel=1e-6)


def every_draw(step, steps, answers, *, form, beta, baseline):
    """The deviation of the log ratio of two right answers over all sequences of draws, exactly."""
    base, valid = np.array([0.3, 0.2, 0.5]), np.array([1.0, 1.0, 0.0])
    draws = combinations_with_replacement(range(3), answers)
    counts = np.array([np.bincount(drawn, minlength=3) for drawn in draws])
    ways = factorial(answers) / factorial(counts).prod(axis=1)
    logits, weight = np.log(base)[None], np.ones(1)
    for _ in range(steps):
        p = softmax(logits, axis=1)
        rows = np.log(p)[..., None], np.log(base)[:, None]
        pull = update(np, *rows, valid, form=form, beta=beta, advantage=less(baseline))[1][..., 0]
        drawn = counts * pull[:, None] / answers
        moved = drawn - p[:, None] * drawn.sum(axis=2, keepdims=True)
        weight = (weight[:, None] * ways * (p[:, None] ** counts).prod(axis=2)).ravel()
        logits = (logits[:, None] + step * moved).reshape(-1, 3)
    apart = logits[:, 0] - logits[:, 1]
    return np.sqrt(weight @ (apart - weight @ apart) ** 2)


@pytest.mark.parametrize(
    "how",
    [
        {"form": "none", "beta": 0.0, "baseline": "mean"},
        {"form": "none", "beta": 0.0, "baseline": "none"},
        {"form": "k2", "beta": 0.5, "baseline": "mean"},
        {"form": "sequence_kl", "beta": 0.5, "baseline": "mean"},
    ],
    ids=lambda how: f"{how['form']} {how['baseline']}",
)
def test_noise_along_is_that_of_all_sequences_of_draws_to_first_order(how):
    off = []
    for step in (0.1, 0.05):
        _, covariances = noise_along([0.3, 0.2, 0.5], [1, 1, 0], [0.0, 6 * step], step=step, answers=2, **how)
        exact = every_draw(step, 6, 2, **how)
        off.append(abs(exact / float(log_ratio_deviation(covariances[-1])) - 1))
    # What is left out is of the order of the step.
    assert off[1] < 0.01
    assert off[1] < 0.55 * off[0] or off[1] < 1e-3
