import mpmath
import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, TabularMDP, alpha_divergence
from dph_theory.improvement import anchor_bound, rehearsal_guarantee, stated_bound, trpo_bound

BANDIT = TabularMDP(np.ones((1, 2, 1)), np.array([[1.0, 0.0]]), 0.9, np.ones(1))
OLD, PEF = np.array([[0.5, 0.5]]), np.array([[0.54, 0.46]])
FAMILY = (None, FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, alpha_divergence(0.5))


def test_where_nothing_is_at_stake_no_distance_costs():
    # All actions pay alike, so that eps = 0; the policies share no action, so that both KLs are infinite.
    idle = TabularMDP(np.ones((1, 2, 1)), np.ones((1, 2)), 0.5, np.ones(1))
    one, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    for divergence in FAMILY:
        assert trpo_bound(idle, one, other, divergence) == 2
        assert anchor_bound(idle, one, one, other, divergence) == 2
    assert stated_bound(idle, one, other, other, FORWARD_KL) == 2


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_the_anchor_bound_is_attained_below_the_anchor(p):
    # One state, two actions: J falls from J_pef by exactly TV times the span of the advantage.
    pi = np.array([[p, 1 - p]])
    assert anchor_bound(BANDIT, pi, OLD, PEF) == pytest.approx(BANDIT.return_(pi), rel=1e-12)
    assert anchor_bound(BANDIT, pi, OLD, PEF, FORWARD_KL) < BANDIT.return_(pi)


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
