import numpy as np
import pytest
from support.drawing_checks import assert_figure_draws, assert_recomputed, stored

from figures.plates.mu_beta import FIGURE


def test_a_known_point_of_the_dial_and_of_its_cost():
    config = {"betas": (0.5, 2.0), "points": 2, "base_rates": (0.25,), "highest_mu": 0.7112345942276}
    (curve,) = FIGURE.compute({**FIGURE.config, **config, "seed": 0}, {})["curves"]
    assert curve["mu"][0] == pytest.approx(0.7112345942276, abs=1e-12)
    assert curve["kappa"] == pytest.approx([0.0, 0.4680105956619], abs=1e-12)


def test_the_excess_is_the_height_above_the_frontier():
    results = FIGURE.numbers(quick=True)["results"]
    mu, kl, excess = (np.array(results["policies"][name]) for name in ("mu", "kl", "excess"))
    rate = results["frontier"]["base_rate"]
    assert rate == pytest.approx(0.25)
    cost = mu * np.log(mu / rate) + (1 - mu) * np.log((1 - mu) / (1 - rate))
    assert kl - cost == pytest.approx(excess, abs=1e-12)
    assert (excess >= 0).all()


def test_the_finding_follows_the_numbers():
    results = FIGURE.numbers(quick=True)["results"]
    assert min(results["policies"]["excess"]) >= 0
    results["policies"]["excess"][3] = -0.1
    assert "of 20 random policies is at least -0.1 nats" in FIGURE.findings(results)[0]


def test_the_seed_decides_the_policies():
    one, same, other = (FIGURE.numbers(seed=seed, quick=True)["results"]["policies"] for seed in (0, 0, 1))
    assert one == same
    assert one != other


def test_the_committed_numbers():
    assert_recomputed("mu_beta")
    assert len(stored("mu_beta")["results"]["policies"]["mu"]) == 400
    assert_figure_draws("mu_beta")
