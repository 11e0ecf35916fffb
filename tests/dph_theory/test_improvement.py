import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory import FORWARD_KL, HELLINGER, JENSEN_SHANNON, REVERSE_KL, TabularMDP, alpha_divergence
from dph_theory.binary_reward import bernoulli_kl
from dph_theory.improvement import (
    anchor_bound,
    anchor_gain,
    best_bound,
    pinsker_constant,
    rehearsal_guarantee,
    stated_bound,
    surrogate,
    trpo_bound,
)

BANDIT = TabularMDP(np.ones((1, 2, 1)), np.array([[1.0, 0.0]]), 0.9, np.ones(1))
OLD, PEF = np.array([[0.5, 0.5]]), np.array([[0.54, 0.46]])
FAMILY = (None, FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5))


def test_where_nothing_is_at_stake_no_distance_costs():
    # All actions pay alike, so that eps = 0; the policies share no action, so that both KLs are infinite.
    idle = TabularMDP(np.ones((1, 2, 1)), np.ones((1, 2)), 0.5, np.ones(1))
    one, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    for divergence in FAMILY:
        assert (
            trpo_bound(idle, one, other, divergence) == anchor_bound(idle, one, one, other, divergence) == 2
        )
    assert stated_bound(idle, one, other, other, FORWARD_KL) == 2


def random_problem(seed: int):
    rng = np.random.default_rng(seed)
    P, r = rng.dirichlet(np.ones(3), size=(4, 3, 2)), rng.normal(size=(4, 3, 2))
    mdp = TabularMDP(P, r, rng.uniform(0, 0.99, 4), rng.dirichlet(np.ones(3), size=4))
    return mdp, rng.dirichlet(np.ones(2), size=(3, 4, 3))


def test_all_agree_where_nothing_changed():
    mdp, (pi, _, _) = random_problem(3)
    start = mdp.return_(pi)
    assert surrogate(mdp, pi, pi) == pytest.approx(start)
    assert trpo_bound(mdp, pi, pi) == pytest.approx(start)
    assert anchor_bound(mdp, pi, pi, pi) == pytest.approx(start)
    assert anchor_gain(mdp, pi, pi) == pytest.approx(np.zeros(4), abs=1e-12)


def test_the_anchor_helps_where_the_policy_went_to_it():
    assert anchor_bound(BANDIT, PEF, OLD, PEF) == pytest.approx(BANDIT.return_(PEF))
    assert best_bound(BANDIT, PEF, OLD, PEF) > trpo_bound(BANDIT, PEF, OLD)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_anchor_bound_is_attained_below_the_anchor(p):
    # One state, two actions: J falls from J_pef by exactly TV times the span of the advantage.
    pi = np.array([[p, 1 - p]])
    assert anchor_bound(BANDIT, pi, OLD, PEF) == pytest.approx(BANDIT.return_(pi), rel=1e-12)
    assert anchor_bound(BANDIT, pi, OLD, PEF, FORWARD_KL) < BANDIT.return_(pi)


def test_one_constant_for_the_family():
    constants = [
        pinsker_constant(d)
        for d in (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.3), HELLINGER)
    ]
    assert constants == pytest.approx([2, 2, 4, 2, 4])


@given(st.floats(0, 20), st.floats(0.05, 0.99))
def test_rehearsal_guarantee_inverts_the_bernoulli_kl(kl, reference):
    least = rehearsal_guarantee(kl, reference)
    assert 0 <= least <= reference
    if least > 0:
        assert bernoulli_kl(reference, least) == pytest.approx(kl, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("kl", "reference"), [(1.29e-6, 2.9e-8), (4e-11, 1.1e-12), (1e-14, 0.5), (39.0, 1 - 1e-5), (0.0, 0.3)]
)
def test_rehearsal_guarantee_keeps_its_digits(kl, reference):
    with mpmath.workdps(50):
        r = mpmath.mpf(reference)

        def beyond(t):  # kl(r || r e^-t) - kl
            return r * t - (1 - r) * mpmath.log1p(r * -mpmath.expm1(-t) / (1 - r)) - mpmath.mpf(kl)

        t = mpmath.findroot(beyond, (0, 2 + kl / r), solver="bisect", maxsteps=300, verify=False)
        assert rehearsal_guarantee(kl, reference) == pytest.approx(float(r * mpmath.exp(-t)), rel=1e-13)


def test_rehearsal_guarantee_broadcasts_and_keeps_the_ends():
    values = rehearsal_guarantee(np.array([0.0, 1.0, 800.0]), np.array([[1.0], [0.0]]))
    assert values[0] == pytest.approx([1.0, np.exp(-1), 0.0])
    assert values[1].tolist() == [0, 0, 0]
    assert rehearsal_guarantee([1.0, 1e300], 1e-300).tolist() == [0, 0]
