import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dph_theory import REVERSE_KL, binary_reward


def test_a_pass_rate_that_rounding_put_above_one_composes():
    above = np.nextafter(1.0, 2.0)
    assert binary_reward.kappa(above, 0.5) == binary_reward.kappa(1.0, 0.5)
    assert binary_reward.mean_pass_rate([above, 0.5], 1.0) == binary_reward.mean_pass_rate([1.0, 0.5], 1.0)
    assert binary_reward.kappa([0.0, 1.0], 0.25) == pytest.approx(-np.log([0.75, 0.25]))


def test_at_the_smallest_beta_an_unsolvable_prompt_stays_unsolved():
    assert binary_reward.tilted([0.0, 1.0], [1, 0], 5e-324).tolist() == [0, 1]
    assert binary_reward.mean_pass_rate([0.0, 0.5], 5e-324) == 0.5


def test_a_part_that_neither_visits_costs_nothing():
    parts = binary_reward.excess_kl((0.5, 0.5, 0), (0.3, 0.7, 0), (1, 1, 0))
    assert parts == (REVERSE_KL((0.5, 0.5), (0.3, 0.7)), 0, parts.total, 0)


@pytest.mark.parametrize("beta", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("base_rate", [1e-300, 1e-20, 0.3, 1 - 1e-12])
def test_stable_at_extremes_against_60_digits(base_rate, beta):
    with mpmath.workdps(60):
        a, gain = mpmath.mpf(base_rate), 1 / mpmath.mpf(beta)
        odds = a / (1 - a) * mpmath.exp(gain)
        mu = odds / (1 + odds)
        partition = mpmath.log(1 - a + a * mpmath.exp(gain))
        assert binary_reward.mu_from_beta(base_rate, beta) == pytest.approx(float(mu), rel=1e-12)
        assert binary_reward.log_partition(base_rate, beta) == pytest.approx(float(partition), rel=1e-12)


@pytest.mark.parametrize("beta", [1e-320, 1e-6, 1e-2, 1e3])
def test_models_are_stable_at_base_rate_1e_300(beta):
    base = np.array([6e-301, 4e-301, 1.0])
    valid = np.array([True, True, False])
    assert binary_reward.filtered(base, valid) == pytest.approx([0.6, 0.4, 0], rel=1e-12)
    model = binary_reward.tilted(base, valid, beta)
    assert np.isfinite(model).all()
    assert model.sum() == pytest.approx(1)
    assert model[0] * 4 == pytest.approx(model[1] * 6, rel=1e-12)
    assert binary_reward.with_pass_rate(binary_reward.pass_rate(model, valid), base, valid) == pytest.approx(
        model, rel=1e-12
    )


def test_kappa_keeps_its_digits_where_mu_meets_the_base_rate():
    base_rate, step = 0.25, 2.0**-30
    with mpmath.workdps(60):
        m, a = mpmath.mpf(base_rate + step), mpmath.mpf(base_rate)
        exact = m * mpmath.log(m / a) + (1 - m) * mpmath.log((1 - m) / (1 - a))
    assert binary_reward.kappa(base_rate + step, base_rate) == pytest.approx(float(exact), rel=1e-12)


def test_prompts_that_are_never_or_always_solved_stay_so():
    beta = binary_reward.beta_for_mean_pass_rate([0.0, 1.0, 0.2, 0.4], 0.6)
    assert (1 + binary_reward.mu_from_beta([0.2, 0.4], beta).sum()) / 4 == pytest.approx(0.6, rel=1e-12)
    assert binary_reward.mean_pass_rate([0.0, 1.0, 0.2, 0.4], beta) == pytest.approx(0.6, rel=1e-12)


@given(
    base_rates=st.lists(st.floats(1e-9, 0.98), min_size=1, max_size=4),
    unsolvable=st.integers(0, 2),
    position=st.floats(0.02, 0.98),
)
@settings(max_examples=60, deadline=None)
def test_the_beta_of_a_mean_pass_rate_is_its_root_to_eleven_digits(base_rates, unsolvable, position):
    rates = np.array(base_rates + [0.0] * unsolvable)
    target = (1 - position) * rates.mean() + position * len(base_rates) / len(rates)
    beta = binary_reward.beta_for_mean_pass_rate(rates, target)
    low, high = (binary_reward.mean_pass_rate(rates, beta * (1 + side)) for side in (1e-11, -1e-11))
    assert low < target < high
