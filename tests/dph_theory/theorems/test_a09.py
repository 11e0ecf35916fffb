import numpy as np
import pytest

from dph_theory import binary_reward
from dph_theory.numeric import balls
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a09

EXAMPLE = {"base_rates": np.array([[0.1, 0.3, 0.6]]), "targets": np.array([[0.8, 0.8, 0.8]])}


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
