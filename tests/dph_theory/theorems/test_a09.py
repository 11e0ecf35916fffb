import numpy as np
import pytest

from dph_theory import binary_reward
from dph_theory.numeric import balls
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a09

EXAMPLE = {"base_rates": np.array([[0.1, 0.3, 0.6]]), "targets": np.array([[0.8, 0.8, 0.8]])}


def test_the_rates_and_the_cost_of_one_beta_against_one_target_for_all():
    assert a09.tilted_rates(**EXAMPLE)[0] == pytest.approx(
        [0.5967469645992, 0.8509226143122, 0.9523304210885], rel=1e-12
    )
    assert a09.cost_of_one_beta(**EXAMPLE) == pytest.approx(0.57911733359, rel=1e-11)
    assert a09.cost(**EXAMPLE) == pytest.approx(0.662788261516, rel=1e-12)


def test_lowering_the_mean_validity_mirrors_raising_it():
    lower = a09.tilted_rates(1 - EXAMPLE["base_rates"], 1 - EXAMPLE["targets"])
    assert lower == pytest.approx(1 - a09.tilted_rates(**EXAMPLE), rel=1e-12)


def test_at_the_optimal_rates_the_dual_bound_is_attained():
    beta = np.array([0.38622661634118])
    mu = a09.tilted_rates(**EXAMPLE)
    assert a09.priced_cost(EXAMPLE["base_rates"], mu, beta) == pytest.approx(0.57911733359, rel=1e-11)
    # At any other rates of the same mean only the cost rises, not the bound.
    assert a09.priced_cost(**EXAMPLE, beta=beta) == pytest.approx(0.57911733359, rel=1e-11)


def test_the_root_of_the_example():
    instance = as_floats(a09.ROOT.examples[0].parts)
    assert a09.target(instance["base_rates"], instance["position"]) == pytest.approx(0.8, rel=1e-15)
    assert a09.root(instance["base_rates"], instance["position"]) == pytest.approx(
        0.38622661634118, rel=1e-13
    )


def test_a_never_solved_prompt_caps_the_mean_validity():
    rates, solvable = np.array([[0.1, 0.3, 0.6]]), np.array([[True, True, False]])
    A1 = balls.only(rates, solvable)
    assert binary_reward.mean_validity(A1, np.array([0.01])) == pytest.approx(2 / 3, rel=1e-12)
    assert (a09.distances(A1, np.array([0.1])) > 0).all()
