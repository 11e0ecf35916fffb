import numpy as np
import pytest

from dph_theory.binary_reward import tilted
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import a04

QUARTER = {"base": np.array([[0.25, 0.75]]), "valid": np.array([[True, False]]), "beta": np.array([0.5])}


def test_the_optimum_at_a_quarter():
    instance = as_floats(a04.VALUE.examples[0].parts)
    whole, through_validity = a04.objective_at_tilted(**instance)[0]
    assert whole == pytest.approx(0.4772292963966, abs=1e-13)
    assert through_validity == pytest.approx(0.4772292963966, abs=1e-13)
    assert a04.scaled_log_partition(**instance)[0, 0] == pytest.approx(0.4772292963966, abs=1e-13)


def test_the_identity_at_a_quarter():
    instance = as_floats(a04.IDENTITY.examples[0].parts)
    lhs, rhs = a04.IDENTITY.sides(instance)
    # .4772292963966 plus half of KL((.6,.4) || (.25,.75)).
    cost = 0.6 * np.log(0.6 / 0.25) + 0.4 * np.log(0.4 / 0.75)
    assert rhs == pytest.approx(0.4772292963966 + cost / 2, abs=1e-13)
    assert lhs == pytest.approx(rhs, rel=1e-14)


def test_the_margin_vanishes_at_the_tilted_model_only():
    best = tilted(**QUARTER)
    assert a04.loss(best, **QUARTER) == pytest.approx(0, abs=1e-15)
    assert a04.margin(best, **QUARTER) == 0
    for mass in (0.2, 0.6, 0.75, 1.0):
        other = np.array([[mass, 1 - mass]])
        assert a04.loss(other, **QUARTER) > a04.margin(other, **QUARTER) > 1e-3
