import numpy as np
import pytest
from scipy.optimize import brentq

from dph_theory import restricted
from dph_theory.binary_reward import tilted
from dph_theory.divergences import REVERSE_KL

Q, BASE = np.array([[0.3, 0.3, 0.2, 0.2]]), np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, False, False]])
DIRAC = [1, 0, 0, 0]


def test_the_jump_by_indifference_and_by_bisection():
    def lead(beta):
        target = tilted(BASE[0], VALID[0], beta)
        return REVERSE_KL(Q[0], target) - REVERSE_KL(DIRAC, target)

    assert restricted.jump(Q[:, None], BASE, VALID) == pytest.approx(0.369571933514, rel=1e-12)
    assert brentq(lead, 0.1, 1, xtol=1e-15, rtol=1e-14) == pytest.approx(0.369571933514, rel=1e-12)


def test_projection_agrees_with_the_divergence_to_the_tilted_model():
    rng = np.random.default_rng(1)
    family, base = rng.dirichlet(np.ones(4), (50, 6)), rng.dirichlet(np.ones(4), 50)
    beta = rng.uniform(0.1, 2, 50)
    chosen = restricted.projection(family, base, np.broadcast_to(VALID, base.shape), beta)
    divergence = REVERSE_KL(family, tilted(base, VALID, beta)[:, None])
    assert (chosen.argmax(axis=-1) == divergence.argmin(axis=-1)).all()


def test_the_critical_beta_is_not_capped():
    family, base, valid = [[0.6, 0.4], [0.7, 0.3]], [0.5, 0.5], [True, False]
    cost = REVERSE_KL(np.array(family), np.array(base))
    assert restricted.critical_beta(family, base, valid) == pytest.approx(
        0.1 / (cost[1] - cost[0]), rel=1e-14
    )
    assert restricted.critical_beta(family[1:], base, valid) == np.inf


def test_below_the_critical_beta_the_most_valid_member_wins_and_above_it_another():
    rng = np.random.default_rng(5)
    family, base = rng.dirichlet(np.ones(4), (200, 6)), rng.dirichlet(np.ones(4), 200)
    valid = np.array([True, True, False, False])
    critical = restricted.critical_beta(family, base, valid)
    most = np.argmax(family[..., :2].sum(axis=-1), axis=-1)
    finite = np.isfinite(critical)
    assert finite.sum() > 100
    for factor, wins in ((0.999, True), (1.001, False)):
        beta = np.where(finite, critical * factor, 1.0)
        winner = np.argmax(restricted.projection(family, base, valid, beta), axis=-1)
        assert ((winner == most) == wins)[finite].all()
