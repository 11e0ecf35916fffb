import numpy as np
import pytest

from dph_theory import DIVERGENCES, alpha_divergence
from dph_theory.numeric.elementary import expit
from toy_lm.strategies.task import (
    StrategiesPolicy,
    pass_rates,
    policy_outcomes,
    random_tasks,
    step_along,
    task,
)


def test_the_base_distribution_is_that_of_pairs_failures_first():
    weights, base = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
    base_distribution = task(weights, base, easy_rate=0.9, hard_rate=0.25).base_distribution
    expected = [[0.06, 0.04, 0.54, 0.36], [0.45, 0.4, 0.15, 0], [0.6, 0.3, 0, 0.1]]
    np.testing.assert_allclose(base_distribution, expected, rtol=0, atol=1e-16)


def test_random_tasks_are_a_batch_and_follow_their_generator():
    first, again, other = (random_tasks(50, 4, 0.9, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.base_distribution, again.base_distribution)
    assert not np.array_equal(first.base, other.base)
    assert first.base_distribution.shape == (50, 5, 8)
    np.testing.assert_allclose(first.base_distribution.sum(axis=-1), 1, rtol=1e-12)
    assert ((first.hard_rate > 0.1) & (first.hard_rate < 0.9)).all()


TASK = task(np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.3, 0.2]), easy_rate=0.9, hard_rate=0.4)
CONDITIONING = np.array([0.7, 0.0])


def random_policy(seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return StrategiesPolicy(*(scale * rng.normal(size=(2, *shape)) for shape in ((3,), (4, 3), (3,))))


def test_the_law_is_softmax_times_skill():
    policy = random_policy(0)
    found = policy_outcomes(policy, TASK, CONDITIONING)
    np.testing.assert_allclose(found.outcomes.sum(axis=-1), 1, rtol=1e-14)
    logits = policy.theta[0] + 0.7 * policy.phi[0, 2]
    pi = np.exp(logits) / np.exp(logits).sum()
    rates = pass_rates(found.outcomes)
    np.testing.assert_allclose(rates[0, 2], pi[1] * expit(policy.skill[0, 1]), rtol=1e-14)
    np.testing.assert_allclose(rates[:, 0], 0.9, rtol=1e-14)
    # Without conditioning all types are answered alike.
    strategies = found.outcomes[1, :, :3] + found.outcomes[1, :, 3:]
    np.testing.assert_allclose(strategies, np.broadcast_to(strategies[0], (4, 3)), rtol=1e-14)


def test_the_log_ratio_is_formed_without_loss_where_the_masses_underflow():
    found = policy_outcomes(random_policy(1), TASK, CONDITIONING)
    possible = np.broadcast_to(TASK.base_distribution > 0, found.outcomes.shape)
    ratio = (found.outcomes / np.where(TASK.base_distribution > 0, TASK.base_distribution, 1))[possible]
    np.testing.assert_allclose(found.log_ratio[possible], np.log(ratio), rtol=1e-9)
    assert (found.log_ratio[~possible] == 0).all()
    assert np.isfinite(policy_outcomes(random_policy(2, scale=2000), TASK, CONDITIONING).log_ratio).all()


@pytest.mark.parametrize("divergence", [*DIVERGENCES.values(), alpha_divergence(0.3)], ids=lambda d: d.name)
def test_the_chain_rule_agrees_with_finite_differences(divergence):
    """Of sum_t w_t D_f(P_t || base_t), in every parameter."""
    policy = random_policy(3, scale=0.5)
    base = TASK.base_distribution

    def objective(changed):
        outcomes = policy_outcomes(changed, TASK, CONDITIONING).outcomes
        return (TASK.weights * divergence(outcomes, base)).sum(axis=-1)

    here = policy_outcomes(policy, TASK, CONDITIONING)
    pull = TASK.weights[:, None] * divergence.gradient(here.outcomes, base)
    step = step_along(policy, pull, CONDITIONING, 1.0)
    for name in StrategiesPolicy._fields:
        values = getattr(policy, name)
        gradient = getattr(step, name) - values
        for index in np.ndindex(values.shape[1:]):
            change = np.zeros_like(values)
            change[(slice(None), *index)] = 1e-6
            up, down = (objective(policy._replace(**{name: values + s * change})) for s in (1, -1))
            np.testing.assert_allclose(gradient[(slice(None), *index)], (up - down) / 2e-6, atol=1e-8)
