import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hypothesis_strategies import betas, laws, rates, verifiers

from dph_theory import REVERSE_KL
from dph_theory.binary_reward import (
    beta_for_mean_validity,
    beta_from_mu,
    excess_kl,
    filtered,
    kappa,
    log_partition,
    mean_validity,
    mu_by_forward_kl,
    mu_from_beta,
    solvable_share,
    tilted,
    valid_mass,
    with_validity,
)

POLICY, BASE, VALID = (0.3, 0.25, 0.25, 0.2), (0.15, 0.1, 0.45, 0.3), (1, 1, 0, 0)
RATES = np.array([0.1, 0.3, 0.6])


def test_a_validity_that_rounding_put_above_one_composes():
    above = np.nextafter(1.0, 2.0)
    assert kappa(above, 0.5) == kappa(1.0, 0.5)
    assert mean_validity([above, 0.5], 1.0) == mean_validity([1.0, 0.5], 1.0)


def test_one_beta_for_many_prompts_values_of_the_theory():
    beta = beta_for_mean_validity(RATES, 0.8)
    mu = mu_from_beta(RATES, beta)
    assert beta == pytest.approx(0.38622661634118, abs=1e-13)
    assert mu == pytest.approx((0.5967469645992, 0.8509226143122, 0.9523304210885), abs=1e-12)
    assert kappa(mu, RATES).mean() == pytest.approx(0.57911733359, abs=1e-11)
    assert kappa(0.8, RATES).mean() == pytest.approx(0.662788261516, abs=1e-12)


@given(base=laws(), valid=verifiers())
def test_filtered_keeps_the_ratios_and_drops_the_rest(base, valid):
    target = filtered(base, valid)
    assert valid_mass(target, valid) == pytest.approx(1, abs=1e-15)
    assert target == pytest.approx(np.where(valid, base, 0) / base[valid].sum(), rel=1e-12)


@given(base=laws(), valid=verifiers(), beta=betas)
def test_tilted_has_the_validity_that_mu_from_beta_says(base, valid, beta):
    base_rate = valid_mass(base, valid)
    if 1e-9 < base_rate < 1 - 1e-9:
        assert valid_mass(tilted(base, valid, beta), valid) == pytest.approx(
            mu_from_beta(base_rate, beta), rel=1e-9
        )
    same = with_validity(valid_mass(tilted(base, valid, beta), valid), base, valid)
    np.testing.assert_allclose(same, tilted(base, valid, beta), rtol=1e-9, atol=1e-15)


@given(base_rate=rates, gain=st.floats(1e-3, 20))
def test_mu_and_beta_are_inverse_functions(base_rate, gain):
    mu = mu_from_beta(base_rate, 1 / gain)
    # 1 - mu carries an absolute rounding error, which the logit amplifies.
    if mu < 1:
        loss = 1e-15 / (1 - mu) + 1e-15 / (1 - base_rate)
        assert 1 / beta_from_mu(base_rate, mu) == pytest.approx(gain, rel=1e-9, abs=10 * loss)


@given(policy=laws(zeros=True), base=laws(), valid=verifiers())
def test_decomposition_adds_up_and_has_no_negative_part(policy, base, valid):
    parts = excess_kl(policy, base, valid)
    assert parts.total == pytest.approx(parts.validity + parts.excess, rel=1e-9, abs=1e-12)
    assert min(parts) >= 0


def test_a_part_that_neither_visits_costs_nothing():
    parts = excess_kl((0.5, 0.5, 0), (0.3, 0.7, 0), (1, 1, 0))
    assert parts == (REVERSE_KL((0.5, 0.5), (0.3, 0.7)), 0, parts.total, 0)


@pytest.mark.parametrize("beta", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("base_rate", [1e-300, 1e-20, 0.3, 1 - 1e-12])
def test_stable_at_extremes_against_60_digits(base_rate, beta):
    with mpmath.workdps(60):
        a, gain = mpmath.mpf(base_rate), 1 / mpmath.mpf(beta)
        odds = a / (1 - a) * mpmath.exp(gain)
        mu = odds / (1 + odds)
        partition = mpmath.log(1 - a + a * mpmath.exp(gain))
        assert mu_from_beta(base_rate, beta) == pytest.approx(float(mu), rel=1e-12)
        assert log_partition(base_rate, beta) == pytest.approx(float(partition), rel=1e-12)


@pytest.mark.parametrize("beta", [1e-320, 1e-6, 1e-2, 1e3])
def test_models_are_stable_at_base_rate_1e_300(beta):
    base = np.array([6e-301, 4e-301, 1.0])
    valid = np.array([True, True, False])
    assert filtered(base, valid) == pytest.approx([0.6, 0.4, 0], rel=1e-12)
    model = tilted(base, valid, beta)
    assert np.isfinite(model).all()
    assert model.sum() == pytest.approx(1)
    assert model[0] * 4 == pytest.approx(model[1] * 6, rel=1e-12)


def test_kappa_keeps_its_digits_where_mu_meets_the_base_rate():
    base_rate, step = 0.25, 2.0**-30
    with mpmath.workdps(60):
        m, a = mpmath.mpf(base_rate + step), mpmath.mpf(base_rate)
        exact = m * mpmath.log(m / a) + (1 - m) * mpmath.log((1 - m) / (1 - a))
    assert kappa(base_rate + step, base_rate) == pytest.approx(float(exact), rel=1e-12)


def test_kappa_at_the_ends():
    assert kappa([0.0, 1.0], 0.25) == pytest.approx(-np.log([0.75, 0.25]))


@given(base_rates=st.lists(rates, min_size=1, max_size=6), share=st.floats(0.05, 0.95))
def test_mean_validity_is_reached(base_rates, share):
    base_rates = np.array(base_rates)
    mu = base_rates.mean() + share * (1 - base_rates.mean())
    if base_rates.mean() < mu < 1:
        beta = beta_for_mean_validity(base_rates, mu)
        assert mu_from_beta(base_rates, beta).mean() == pytest.approx(mu, rel=1e-9)


def test_prompts_that_are_never_or_always_solved_stay_so():
    beta = beta_for_mean_validity([0.0, 1.0, 0.2, 0.4], 0.6)
    assert (1 + mu_from_beta([0.2, 0.4], beta).sum()) / 4 == pytest.approx(0.6, rel=1e-12)
    assert mean_validity([0.0, 1.0, 0.2, 0.4], beta) == pytest.approx(0.6, rel=1e-12)
    assert solvable_share(np.array([0.0, 1.0, 0.2, 0.4])) == 0.75


@pytest.mark.parametrize("eta", [0.01, 0.5, 1.0, 30.0])
def test_forward_kl_balances_the_reward(eta):
    mu = mu_by_forward_kl(0.2, eta)
    # The slope of mu + eta (A1 log mu + A0 log(1-mu)).
    assert 1 + eta * (0.2 / mu - 0.8 / (1 - mu)) == pytest.approx(0, abs=1e-12)


def test_batches_agree_with_single_instances():
    rng = np.random.default_rng(1)
    base, policy = rng.dirichlet(np.ones(4), size=6), rng.dirichlet(np.ones(4), size=6)
    batch = excess_kl(policy, base, VALID)
    for i in range(6):
        assert [part[i] for part in batch] == pytest.approx(excess_kl(policy[i], base[i], VALID), rel=1e-12)
    betas_ = np.linspace(0.1, 2, 6)
    np.testing.assert_allclose(tilted(base, VALID, betas_)[3], tilted(base[3], VALID, betas_[3]), rtol=1e-13)
