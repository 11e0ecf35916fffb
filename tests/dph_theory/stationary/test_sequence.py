import mpmath
import numpy as np
import pytest
from support.answer_trees import random_tree

from dph_theory import CHI_SQUARED, DIVERGENCES, FORWARD_KL, alpha_divergence, mu_from_beta
from dph_theory.stationary import (
    answer_probabilities,
    beta_at,
    policy_divergence,
    policy_pass_rate,
    sequence_policy,
    valid_answer_shares,
    validity_at,
)

EVERY = [divergence for divergence in DIVERGENCES.values() if np.isfinite(divergence.curvature)]
EVERY += [alpha_divergence(0.5)]
every = pytest.mark.parametrize("divergence", EVERY, ids=lambda d: d.name)


@every
def test_every_divergence_keeps_the_ratios_and_moves_the_validity_alone(divergence):
    base, valid = random_tree(0, 4)
    policy = sequence_policy(base, valid, 0.3, divergence)
    shares = valid_answer_shares(base, valid)
    assert valid_answer_shares(policy, valid) == pytest.approx(shares, rel=1e-10, abs=1e-15)
    pass_rate = validity_at(policy_pass_rate(base, valid), 0.3, divergence)
    assert policy_pass_rate(policy, valid) == pytest.approx(pass_rate, rel=1e-12)


@every
def test_the_objective_falls_in_every_direction(divergence):
    base, valid = random_tree(1)
    best = sequence_policy(base, valid, 0.3, divergence)
    answers, ref = (answer_probabilities(tables).ravel() for tables in (best, base))
    flat = valid.ravel()

    def objective(policy):
        return policy @ flat - 0.3 * divergence(policy, ref)

    draw = np.random.default_rng(0)
    for _ in range(20):
        moved = answers * np.exp(1e-3 * draw.normal(size=answers.size))
        assert objective(moved / moved.sum()) < objective(answers)


def test_prefixes_without_mass_keep_the_base():
    base = [np.array([0.5, 0.5]), np.array([[0.3, 0.7], [0.2, 0.8]])]
    policy = sequence_policy(base, [[1, 1], [0, 0]], 0.1, CHI_SQUARED)
    assert policy[0] == pytest.approx([1, 0])
    assert policy[1] == pytest.approx(base[1])
    nowhere = sequence_policy(base, np.zeros((2, 2)), 0.1)
    assert policy_divergence(nowhere, base) == pytest.approx(0, abs=1e-15)


def test_closed_forms():
    rates, betas = np.array([0.05, 0.3, 0.9])[:, None], np.array([0.05, 0.5, 5.0])
    assert validity_at(rates, betas) == pytest.approx(mu_from_beta(rates, betas), rel=1e-13)
    root = ((1 + betas) + np.sqrt((1 + betas) ** 2 - 4 * betas * (1 - rates))) / 2
    assert validity_at(rates, betas, FORWARD_KL) == pytest.approx(betas * rates / (root - 1), rel=1e-11)
    pearson = np.minimum(rates + (1 - rates) * rates / (2 * betas), 1)
    assert validity_at(rates, betas, CHI_SQUARED) == pytest.approx(pearson, rel=1e-12)


@every
def test_beta_at_inverts(divergence):
    assert beta_at(0.25, 1.0, CHI_SQUARED) == pytest.approx(0.125, rel=1e-12)  # The largest without failures.
    for base_rate, validity in ((0.25, 0.3), (0.25, 0.9), (1e-3, 0.5), (0.9, 0.95)):
        beta = beta_at(base_rate, validity, divergence)
        assert validity_at(base_rate, beta, divergence) == pytest.approx(validity, rel=1e-10)


def test_rates_of_zero_and_one_stay():
    for divergence in EVERY:
        assert validity_at([0.0, 1.0], 0.1, divergence) == pytest.approx([0, 1], abs=1e-15)


@pytest.mark.parametrize(
    ("divergence", "slope"),
    [
        (CHI_SQUARED, lambda mu, a: mu / a - (1 - mu) / (1 - a)),
        (alpha_divergence(-1.5), lambda mu, a: ((mu / a) ** 1.5 - ((1 - mu) / (1 - a)) ** 1.5) / 1.5),
    ],
    ids=("chi_squared", "alpha_-1.5"),
)
def test_a_rare_success_and_a_small_beta_cost_few_digits(divergence, slope):
    base_rate, beta = mpmath.mpf("1e-12"), mpmath.mpf("1e-9")
    with mpmath.workdps(40):
        strength = {True: 1 / (2 * beta), False: 1 / beta}[divergence is CHI_SQUARED]
        exact = mpmath.findroot(lambda mu: slope(mu, base_rate) - strength, (1e-4, 1e-3), solver="anderson")
    assert validity_at(1e-12, 1e-9, divergence) == pytest.approx(float(exact), abs=1e-9)
