"""The accuracy that the package promises, of every public law of one decision, against sixty digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dph_theory as d
from dph_theory import stationary
from dph_theory.binary_reward import log_partition, mean_pass_rate
from dph_theory.divergences import NEYMAN_CHI_SQUARED
from dph_theory.finite_training import stationary_spread

# The power p of f'(u) = f''(1) (1 - u^-p)/p, and f''(1); 0 for log u.
POWERS = {
    d.REVERSE_KL: (0, 1),
    d.FORWARD_KL: (1, 1),
    d.CHI_SQUARED: (-1, 2),
    NEYMAN_CHI_SQUARED: (2, 2),
    d.HELLINGER: (0.5, 0.5),
    d.alpha_divergence(0.2): (0.2, 1),
    d.alpha_divergence(-1.5): (-1.5, 1),
}
BETAS = st.floats(-6, 3).map(lambda e: 10.0**e)
SIDES = st.floats(-9, -0.31).map(lambda e: 10.0**e)
RATES = st.one_of(SIDES, SIDES.map(lambda rate: 1 - rate))


def true_pass_rate(base_rate, beta, divergence):
    """mu where f'(mu/A1) - f'((1-mu)/A0) = 1/beta, found by halving in log odds; 1 where nothing balances."""
    a, beta = mpmath.mpf(base_rate), mpmath.mpf(beta)
    power, curvature = (mpmath.mpf(part) for part in POWERS[divergence])

    def slope(log_u):
        return curvature * (log_u if power == 0 else -mpmath.expm1(-power * log_u) / power)

    def excess(odds):
        right, wrong = -mpmath.log1p(mpmath.exp(-odds)), -mpmath.log1p(mpmath.exp(odds))
        return slope(right - mpmath.log(a)) - slope(wrong - mpmath.log(1 - a)) - 1 / beta

    low = mpmath.log(a) - mpmath.log(1 - a)
    high = low + 2 / beta + 200
    if excess(high) < 0:
        return mpmath.mpf(1)
    for _ in range(190):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return 1 / (1 + mpmath.exp(-low))


def nats(mu, base_rate):
    a = mpmath.mpf(base_rate)
    return mu * mpmath.log(mu / a) + (mpmath.log((1 - mu) / (1 - a)) * (1 - mu) if mu < 1 else 0)


@pytest.mark.parametrize("divergence", POWERS, ids=lambda divergence: divergence.name)
@settings(max_examples=20)
@given(RATES, BETAS)
def test_pass_rates_of_policies_are_right_to_nine_digits(divergence, base_rate, beta):
    with mpmath.workdps(60):
        mu = float(true_pass_rate(base_rate, beta, divergence))
    base, valid = [np.array([base_rate, 1 - base_rate])], [True, False]
    found = {
        "pass_rate_at": stationary.pass_rate_at(base_rate, beta, divergence),
        "best_response": stationary.best_response(base[0], [1.0, 0.0], beta, divergence)[0],
        "sequence_law": stationary.sequence_policy(base, valid, beta, divergence)[0][0],
        "token_law": stationary.token_policy(base, valid, beta, divergence)[0][0],
    }
    if divergence is d.REVERSE_KL:
        found["mu_from_beta"] = d.mu_from_beta(base_rate, beta)
        found["tilted"] = d.tilted(base[0], valid, beta)[0]
        found["mean_pass_rate"] = mean_pass_rate([base_rate], beta)
        found["normalised"] = stationary.normalised_pass_rate_at(base_rate, beta, 8, scale="leave_one_out")
    numbers = {name: float(value) for name, value in found.items()}
    assert numbers == pytest.approx(dict.fromkeys(found, mu), abs=1e-9)
    if base_rate + 1e-3 < mu < 0.999:
        assert stationary.beta_at(base_rate, mu, divergence) == pytest.approx(beta, rel=1e-6)


@given(RATES, BETAS)
def test_what_a_stationary_policy_costs_is_right_to_nine_digits(base_rate, beta):
    with mpmath.workdps(60):
        mu = true_pass_rate(base_rate, beta, d.REVERSE_KL)
        cost = float(nats(mu, base_rate))
        log_z = float(mpmath.log(1 + mpmath.mpf(base_rate) * mpmath.expm1(1 / mpmath.mpf(beta))))
    base, valid = np.array([base_rate, 1 - base_rate]), [True, False]
    assert d.kappa(d.mu_from_beta(base_rate, beta), base_rate) == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert d.REVERSE_KL(d.tilted(base, valid, beta), base) == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert log_partition(base_rate, beta) == pytest.approx(log_z, rel=1e-9, abs=1e-9)


@given(RATES, st.floats(0, 300).map(lambda e: 10.0**e))
def test_the_spread_at_a_stationary_policy_falls_with_beta_to_nothing(base_rate, beta):
    """KL(p_b || a) ~ A1 A0/(2 beta^2): its digits are not those of mu, which rounds to A1."""
    found = stationary_spread(base_rate, beta, form="k2", step=1e-3, answers=1)
    with mpmath.workdps(700):
        g, a = 1 / mpmath.mpf(beta), mpmath.mpf(base_rate)
        z = 1 + a * mpmath.expm1(g)
        cost = a * mpmath.exp(g) / z * g - mpmath.log(z)
        expected = float(mpmath.sqrt(mpmath.mpf(beta) / 1000) * cost)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-30)


# A power below -1 of the smallest rate overflows, with a warning.
@pytest.mark.parametrize("divergence", [d for d in POWERS if POWERS[d][0] >= -1], ids=lambda d: d.name)
def test_beyond_them_are_limits(divergence):
    assert stationary.pass_rate_at(0.3, 1e300, divergence) == pytest.approx(0.3, abs=1e-9)
    assert stationary.pass_rate_at(0.3, 1e-300, divergence) == pytest.approx(1, abs=1e-9)
    for rate in (1e-300, 1 - 2**-53):
        assert stationary.pass_rate_at(rate, 1e9, divergence) == pytest.approx(rate, abs=1e-9)
        assert not np.isnan(stationary.pass_rate_at(rate, [1e-300, 1e-6, 1.0, 1e300], divergence)).any()


def test_a_family_is_projected_where_every_answer_is_right_or_the_base_gives_none():
    family = [[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]]
    for valid in ([1, 1, 1], [0, 0, 1]):
        assert d.projection(family, [0.5, 0.5, 0.0], valid, 0.1).tolist() == [True, False]
