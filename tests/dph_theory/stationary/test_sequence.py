import numpy as np
import pytest
from support.answer_trees import random_tree

from dph_theory import CHI_SQUARED, DIVERGENCES, alpha_divergence
from dph_theory.stationary import (
    answer_probabilities,
    beta_at,
    pass_rate_at,
    policy_divergence,
    sequence_policy,
    table_pass_rate,
    valid_answer_shares,
)

EVERY = [divergence for divergence in DIVERGENCES.values() if np.isfinite(divergence.curvature)]
EVERY += [alpha_divergence(0.5)]
every = pytest.mark.parametrize("divergence", EVERY, ids=lambda d: d.name)


@every
def test_every_divergence_keeps_the_ratios_and_moves_the_pass_rate_alone(divergence):
    base, valid = random_tree(0, 4)
    policy = sequence_policy(base, valid, 0.3, divergence)
    shares = valid_answer_shares(base, valid)
    assert valid_answer_shares(policy, valid) == pytest.approx(shares, rel=1e-10, abs=1e-15)
    pass_rate = pass_rate_at(table_pass_rate(base, valid), 0.3, divergence)
    assert table_pass_rate(policy, valid) == pytest.approx(pass_rate, rel=1e-12)


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


@every
def test_beta_at_inverts(divergence):
    assert beta_at(0.25, 1.0, CHI_SQUARED) == pytest.approx(0.125, rel=1e-12)  # The largest without failures.
    for base_rate, pass_rate in ((0.25, 0.3), (0.25, 0.9), (1e-3, 0.5), (0.9, 0.95)):
        beta = beta_at(base_rate, pass_rate, divergence)
        assert pass_rate_at(base_rate, beta, divergence) == pytest.approx(pass_rate, rel=1e-10)


def test_rates_of_zero_and_one_stay():
    for divergence in EVERY:
        assert pass_rate_at([0.0, 1.0], 0.1, divergence) == pytest.approx([0, 1], abs=1e-15)
