import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory import TabularMDP


def random_mdp(seed: int, batch: int = 3, states: int = 3, actions: int = 2):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(states), size=(batch, states, actions))
    r = rng.normal(size=(batch, states, actions))
    gamma, rho0 = rng.uniform(0, 0.95, batch), rng.dirichlet(np.ones(states), size=batch)
    policies = rng.dirichlet(np.ones(actions), size=(2, batch, states))
    return TabularMDP(P, r, gamma, rho0), policies


@given(st.integers(0, 10**6))
def test_bellman_equations_and_visitation(seed):
    mdp, (pi, _) = random_mdp(seed)
    value, visits = mdp.value(pi), mdp.visitation(pi)
    np.testing.assert_allclose((pi * mdp.action_value(pi)).sum(-1), value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose((pi * mdp.advantage(pi)).sum(-1), 0, atol=1e-9)
    np.testing.assert_allclose(visits.sum(-1), 1, rtol=1e-9)
    by_visits = (visits[..., None] * pi * mdp.r).sum((-1, -2)) / (1 - mdp.gamma)
    np.testing.assert_allclose(mdp.return_(pi), by_visits, rtol=1e-8, atol=1e-9)


def test_value_is_the_discounted_sum_of_rewards():
    mdp, (pi, _) = random_mdp(5, batch=1)
    state, total, weight = mdp.rho0[0], 0.0, 1.0
    for _ in range(2000):
        total += weight * state @ (pi[0] * mdp.r[0]).sum(-1)
        state, weight = state @ (pi[0][..., None] * mdp.P[0]).sum(1), weight * mdp.gamma[0]
    assert mdp.return_(pi)[0] == pytest.approx(total, rel=1e-12)


def test_a_policy_in_float32_has_no_advantage_over_itself():
    mdp = TabularMDP(np.ones((1, 2, 1)), np.array([[1.0, 2.0]]), 0.9, np.ones(1))
    pi = np.array([[0.33333, 0.66668]], dtype=np.float32)
    gain = mdp.action_value(pi) - mdp.value(pi)[..., None]
    np.testing.assert_allclose(mdp.advantage(pi), gain, rtol=1e-13)
