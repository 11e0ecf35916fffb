import mpmath
import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, TabularMDP, alpha_divergence
from dph_theory.coverage import exact_pass_at_k
from dph_theory.improvement import (
    anchor_bound,
    pass_at_k_guarantee,
    rehearsal_guarantee,
    stated_bound,
    steepest_line,
    stored_answers_needed,
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


def test_the_steepest_line_is_the_highest_quotient():
    touch, slope = steepest_line([1, 2, 4, 16, 256])
    assert touch[1:] == pytest.approx([1.256431208626, 2.336662982263, 4.229293412754, 7.569869114791])
    assert slope == pytest.approx([1, 0.4072643775891, 0.2849894896616, 0.1869804916706, 0.1157590521015])
    kl = np.linspace(1e-4, 20, 200_000)
    for k, c in zip((2, 4, 16, 256), slope[1:], strict=True):
        assert ((1 - np.exp(-kl)) ** k / kl).max() == pytest.approx(c, rel=1e-7)


@pytest.mark.parametrize("k", [1, 2, 16, 256])
def test_the_guarantee_holds_for_every_mixture_of_prompts_and_is_reached(k):
    rng = np.random.default_rng(k)
    kl = rng.exponential(rng.choice([0.05, 0.5, 5.0], size=(2000, 1)), size=(2000, 4))
    weights = rng.dirichlet(np.ones(4), size=2000)
    mean = (weights * kl).sum(axis=-1)
    least = (weights * exact_pass_at_k(np.exp(-kl), k)).sum(axis=-1)
    guaranteed = pass_at_k_guarantee(mean, k)
    assert (guaranteed <= least + 1e-12).all()
    # Some prompts at zero and the others at x_k, or all alike beyond it.
    touch, _ = steepest_line(k)
    assert pass_at_k_guarantee(0.3 * touch, k) == pytest.approx(
        0.7 + 0.3 * exact_pass_at_k(np.exp(-touch), k)
    )
    assert pass_at_k_guarantee(2 * touch + 1, k) == pytest.approx(exact_pass_at_k(np.exp(-2 * touch - 1), k))
    assert pass_at_k_guarantee([0.0, np.inf], k).tolist() == [1.0, 0.0]


def test_stored_answers_needed_are_the_fewest_that_are_enough():
    share, failure = 0.05, 0.05
    assert [int(stored_answers_needed(share, failure, goal=g)) for g in ("one", "every", "half")] == [
        59,
        117,
        153,
    ]
    n = stored_answers_needed(share, [0.05, 0.01])
    assert ((1 - share) ** n <= [0.05, 0.01]).all()
    assert ((1 - share) ** (n - 1) > [0.05, 0.01]).all()
    with pytest.raises(ValueError, match="goal='two'"):
        stored_answers_needed(share, goal="two")
