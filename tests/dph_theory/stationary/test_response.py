import mpmath
import numpy as np
import pytest

from dph_theory import DIVERGENCES, FORWARD_KL, HELLINGER, alpha_divergence, stationary
from dph_theory.divergences import NEYMAN_CHI_SQUARED
from dph_theory.stationary import best_response

SMOOTH = [divergence for divergence in DIVERGENCES.values() if np.isfinite(divergence.curvature)]
SMOOTH += map(alpha_divergence, (0.3, -1.5, 2.5))
REFERENCE, VALUE = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.2, 0.9, 0.0, 0.7])


@pytest.mark.parametrize("divergence", SMOOTH, ids=lambda d: d.name)
@pytest.mark.parametrize("beta", [3.0, 0.3, 0.05])
def test_slopes_balance_where_the_policy_has_mass(divergence, beta):
    policy = best_response(REFERENCE, VALUE, beta, divergence)
    u = policy / REFERENCE
    kept = u > 1e-200
    balance = VALUE[kept] - beta * divergence.generator_derivative(u[kept])
    assert balance == pytest.approx(balance[0] * np.ones(kept.sum()), abs=1e-9)
    assert policy.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("divergence", SMOOTH, ids=lambda d: d.name)
def test_equal_values_return_the_reference_and_zero_mass_stays(divergence):
    assert best_response(REFERENCE, np.ones(4), 1e-4, divergence) == pytest.approx(REFERENCE, rel=1e-9)
    policy = best_response([0.5, 0.5, 0.0], [0.0, 0.1, 9.0], 0.1, divergence)
    assert policy[2] == 0
    assert policy[1] > 0.5


def in_high_precision(base_rate, beta, power, curvature):
    """The pass rate with f'(mu/A1) - f'((1-mu)/A0) = 1/beta, f' = f''(1) (1 - u^-power)/power, by halving."""
    with mpmath.workdps(120):
        a, power, gain = mpmath.mpf(base_rate), mpmath.mpf(power), 1 / mpmath.mpf(beta)

        def slope(log_mu):
            mu = mpmath.exp(log_mu)
            return curvature / power * (((1 - mu) / (1 - a)) ** -power - (mu / a) ** -power) - gain

        low, high = mpmath.log(a), mpmath.mpf("-1e-60")
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (low, middle) if slope(middle) > 0 else (middle, high)
        return float(mpmath.exp(low))


@pytest.mark.parametrize("base_rate", [1e-300, 1e-28, 0.25])
@pytest.mark.parametrize("off", [0, -1e-9, 1e-9, 0.5])
@pytest.mark.parametrize(
    ("divergence", "power"),
    [(FORWARD_KL, 1), (alpha_divergence(0.5), 0.5), (NEYMAN_CHI_SQUARED, 2), (HELLINGER, 0.5)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_at_the_slope_at_infinity_a_tiny_base_rate_has_its_rate(base_rate, off, divergence, power):
    beta = power / divergence.curvature * (1 + off)
    pass_rate = in_high_precision(base_rate, beta, power, divergence.curvature)
    base, valid = [[base_rate, 1 - base_rate]], [True, False]
    assert stationary.pass_rate_at(base_rate, beta, divergence) == pytest.approx(pass_rate, abs=1e-9)
    if base_rate**power == 0:
        return  # What the laws are solved for, the power of a ratio, underflows.
    responded = stationary.best_response(base[0], [1.0, 0.0], beta, divergence)
    assert responded[0] == pytest.approx(pass_rate, abs=1e-9)
    for solver in (stationary.sequence_policy, stationary.token_policy):
        assert solver(base, valid, beta, divergence)[0][0] == pytest.approx(pass_rate, abs=1e-9)
