import numpy as np
import pytest

from dph_theory import restricted
from dph_theory.divergences import REVERSE_KL

Q, BASE = np.array([[0.3, 0.3, 0.2, 0.2]]), np.array([[0.3, 0.2, 0.1, 0.4]])
VALID = np.array([[True, True, False, False]])
DIRAC = [1, 0, 0, 0]


def test_the_critical_beta_is_not_capped():
    family, base, valid = [[0.6, 0.4], [0.7, 0.3]], [0.5, 0.5], [True, False]
    cost = REVERSE_KL(np.array(family), np.array(base))
    critical = restricted.critical_beta(family, base, valid)
    assert critical == pytest.approx(0.1 / (cost[1] - cost[0]), rel=1e-14)
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
