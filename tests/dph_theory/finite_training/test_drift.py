import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL, REVERSE_KL
from dph_theory.finite_training import (
    SmallNoiseWarning,
    drift_deviation,
    excess_by_noise,
    flow,
    pass_rate_along,
    saturation,
    stationary_spread,
)
from dph_theory.finite_training.answers import reward_less, update
from dph_theory.stationary import normalised_validities, sequence_policy

DRIFT = {"valid": 2, "invalid": 8, "step": 0.02, "answers": 64}


def drift(base_rate, reached=0.9, **changes):
    return float(drift_deviation(base_rate, reached, **DRIFT | changes))


def test_values_of_the_theory():
    assert drift(0.3) == pytest.approx(0.150699, abs=1e-6)
    assert drift(0.1) == pytest.approx(0.536074, abs=1e-6)
    assert drift(0.3, baseline="none") == pytest.approx(0.28207, abs=1e-5)
    assert drift(0.3, baseline="one") == drift(0.3, baseline="one", invalid=1, answers=1) == 0
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


def test_the_noise_at_a_stationary_policy():
    found = stationary_spread(0.7, [0.5, 0.2], form="k2", step=1.0, answers=1)
    assert found == pytest.approx([0.134810, 0.151782], abs=1e-6)
    found = stationary_spread(0.7, [0.5, 0.2], form="k3_corrected", step=0.2, answers=32)
    assert found == pytest.approx([0.0107, 0.0120], abs=5e-5)
    assert stationary_spread(0.7, 0.5, form="sequence_kl", step=1.0, answers=1) == 0


@pytest.mark.parametrize(("form", "divergence"), [("k2", REVERSE_KL), ("k3", FORWARD_KL)])
def test_the_noise_at_a_stationary_policy_solves_its_equation(form, divergence):
    """J S + S J^T + (eta/N) C = 0, J the slope of the expected update and C one answer's covariance."""
    base, valid = np.array([0.35, 0.35, 0.3]), np.array([1.0, 1.0, 0.0])
    (policy,) = sequence_policy([base], valid, 0.5, divergence)

    def terms(theta):
        p = np.exp(theta) / np.exp(theta).sum()
        rows = np.log(p)[:, None], np.log(base)[:, None]
        slope = update(np, *rows, valid, form=form, beta=0.5, advantage=reward_less("mean"))[1][:, 0]
        return slope, p * (slope - (p * slope).sum())

    jacobian = np.stack([terms(np.log(policy) + 1e-30j * row)[1].imag / 1e-30 for row in np.eye(3)], axis=1)
    scores = np.eye(3) - policy
    noise = (scores.T * policy * terms(np.log(policy))[0] ** 2) @ scores
    both = np.kron(jacobian, np.eye(3)) + np.kron(np.eye(3), jacobian)
    spread = np.linalg.lstsq(both, -0.2 / 32 * noise.ravel(), rcond=1e-9)[0].reshape(3, 3)
    apart = np.array([1.0, -1.0, 0.0])
    expected = float(stationary_spread(0.7, 0.5, form=form, step=0.2, answers=32))
    assert np.sqrt(apart @ spread @ apart) == pytest.approx(expected, abs=1e-7)


def test_saturation_is_none_without_noise():
    assert saturation([0.0, 0.536, 1.2]) == pytest.approx([0.0, 0.0861, 0.3053], abs=1e-3)


def test_what_noise_costs_is_the_kl_of_the_shares_it_sets_apart():
    rng = np.random.default_rng(0)
    for right, step in ((2, 0.02), (5, 0.005)):
        setting = {"valid": right, "invalid": 8, "step": step, "answers": 64}
        deviation = float(drift_deviation(0.3, 0.9, **setting))
        logits = rng.normal(0, deviation / np.sqrt(2), (100_000, right))
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        expected = 0.9 * (shares * np.log(shares * right)).sum(axis=1).mean()
        assert float(excess_by_noise(0.3, 0.9, **setting)) == pytest.approx(expected, rel=0.03)
    assert excess_by_noise(0.3, 0.2, **setting) == 0


def test_the_pass_rate_rises_as_the_flow_of_its_logits():
    base = np.array([0.15, 0.15, *[0.7 / 5] * 5])
    valid, times = [1, 1, 0, 0, 0, 0, 0], np.array([0.0, 3.0, 30.0])
    for form, beta, divergence in (("none", 0, REVERSE_KL), ("k2", 0.3, REVERSE_KL), ("k3", 0.3, FORWARD_KL)):
        expected = [policy[:2].sum() for (policy,) in flow([base], valid, times, form=form, beta=beta)]
        found = pass_rate_along(0.3, times, valid=2, invalid=5, beta=beta, divergence=divergence)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_pass_rate_ends_at_the_policy_of_normalised_advantages():
    found = pass_rate_along(0.3, [1e5], valid=2, invalid=5, beta=0.5, group_size=8, scale="std")
    expected = normalised_validities(0.3, 0.5, 8, "std", REVERSE_KL)[0].pass_rate
    assert found[0] == pytest.approx(expected, rel=1e-6)
