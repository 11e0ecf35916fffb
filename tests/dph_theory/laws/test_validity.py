import numpy as np
import pytest

from dph_theory import (
    CHI_SQUARED,
    FORWARD_KL,
    HELLINGER,
    JENSEN_SHANNON,
    NEYMAN_CHI_SQUARED,
    REVERSE_KL,
    alpha_divergence,
    mu_from_beta,
)
from dph_theory.laws import beta_at, validity_at

EVERY = (
    REVERSE_KL,
    FORWARD_KL,
    JENSEN_SHANNON,
    HELLINGER,
    CHI_SQUARED,
    NEYMAN_CHI_SQUARED,
    alpha_divergence(0.5),
)


@pytest.mark.parametrize(
    ("divergence", "beta", "validity"),
    [
        (FORWARD_KL, 1, 0.5),
        (FORWARD_KL, 0.5, 0.683013),
        (FORWARD_KL, 0.04, 0.970306),
        (JENSEN_SHANNON, 0.5, 0.910895),
        (alpha_divergence(0.5), 0.5, 0.705323),
        (CHI_SQUARED, 0.5, 0.4375),
        (CHI_SQUARED, 0.125, 1),
    ],
)
def test_values_of_the_theory(divergence, beta, validity):
    assert validity_at(0.25, beta, divergence) == pytest.approx(validity, abs=5e-7)


def test_closed_forms():
    rates, betas = np.array([0.05, 0.3, 0.9])[:, None], np.array([0.05, 0.5, 5.0])
    assert validity_at(rates, betas) == pytest.approx(mu_from_beta(rates, betas), rel=1e-13)
    root = ((1 + betas) + np.sqrt((1 + betas) ** 2 - 4 * betas * (1 - rates))) / 2
    assert validity_at(rates, betas, FORWARD_KL) == pytest.approx(betas * rates / (root - 1), rel=1e-11)
    pearson = np.minimum(rates + (1 - rates) * rates / (2 * betas), 1)
    assert validity_at(rates, betas, CHI_SQUARED) == pytest.approx(pearson, rel=1e-12)


@pytest.mark.parametrize(
    ("divergence", "failures"),
    [
        (REVERSE_KL, lambda b: 3 * np.exp(-1 / b)),
        (FORWARD_KL, lambda b: 0.75 * b),
        (alpha_divergence(0.5), lambda b: 0.75 * (b / 0.5) ** 2),
        (NEYMAN_CHI_SQUARED, lambda b: 0.75 * np.sqrt(b)),
    ],
    ids=lambda d: getattr(d, "name", ""),
)
def test_how_failures_die(divergence, failures):
    beta = 0.03 if divergence is REVERSE_KL else 1e-5
    assert 1 - validity_at(0.25, beta, divergence) == pytest.approx(failures(beta), rel=5e-3)


@pytest.mark.parametrize("divergence", EVERY, ids=lambda d: d.name)
def test_beta_at_inverts(divergence):
    for base_rate, validity in ((0.25, 0.3), (0.25, 0.9), (1e-3, 0.5), (0.9, 0.95)):
        beta = beta_at(base_rate, validity, divergence)
        assert validity_at(base_rate, beta, divergence) == pytest.approx(validity, rel=1e-10)


def test_the_largest_beta_that_leaves_no_failure():
    assert beta_at(0.25, 1.0, CHI_SQUARED) == pytest.approx(0.125, rel=1e-12)
    with pytest.raises(ValueError, match=r"validity=1.0 is not allowed: above the base rate"):
        beta_at(0.25, 1.0, FORWARD_KL)
    with pytest.raises(ValueError, match="above the base rate"):
        beta_at(0.25, 0.2)


def test_rates_of_zero_and_one_stay():
    for divergence in EVERY:
        assert validity_at([0.0, 1.0], 0.1, divergence) == pytest.approx([0, 1], abs=1e-15)
