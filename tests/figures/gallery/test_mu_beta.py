from dataclasses import replace

import numpy as np
import pytest
from support.drawing_checks import stored

from figures.gallery.mu_beta import FIGURE
from figures.records import Records


def quick(**changes):
    return FIGURE.compute(replace(FIGURE.quick, **changes), Records({}))


def test_a_known_point_of_the_dial_and_of_its_cost():
    (curve,) = quick(betas=(0.5, 2.0), points=2, base_rates=(0.25,), highest_mu=0.7112345942276).curves
    assert curve.mu[0] == pytest.approx(0.7112345942276, abs=1e-12)
    assert curve.kappa == pytest.approx([0.0, 0.4680105956619], abs=1e-12)


def test_the_excess_is_the_height_above_the_frontier():
    results = quick()
    mu, rate = results.policies.mu, results.base_rate
    assert rate == pytest.approx(0.25)
    cost = mu * np.log(mu / rate) + (1 - mu) * np.log((1 - mu) / (1 - rate))
    assert results.policies.kl - cost == pytest.approx(results.policies.excess, abs=1e-12)
    assert (results.policies.excess >= 0).all()


def test_the_table_has_the_least_excess():
    results = quick()
    results.policies.excess[3] = -0.1
    assert FIGURE.table(results).rows[0][:2] == (20, -0.1)


def test_the_seed_decides_the_policies():
    one, same, other = (quick(seed=seed).policies.mu for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()


def test_the_committed_numbers():
    assert len(stored("mu_beta").policies.mu) == 400
