import numpy as np
import pytest

from dph_theory.laws import group_weight, normalised_validities
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import e04_unique, e04_weight
from dph_theory.theorems._laws import expected_weight

RATES = np.array([0.01, 0.1, 0.25, 0.5])


def test_the_registrys_weight_is_the_librarys():
    for scale in ("std", "population_std", "mean"):
        for size in (2, 8):
            assert expected_weight(size, RATES, scale) == pytest.approx(group_weight(size, RATES, scale))


def test_all_groups_of_two():
    # A pair differs with probability 2V(1-V), and then has advantages +-1/sqrt 2.
    found = e04_weight.over_all_groups(RATES)[:, 0]
    assert found == pytest.approx(RATES * (1 - RATES) / np.sqrt(2), rel=1e-12)


def test_one_beta_of_groups_of_32_with_three_laws():
    roots = [root.validity for root in normalised_validities(0.01, 0.42, 32)]
    drives = e04_unique.drive(np.array(roots), 0.42)
    assert drives == pytest.approx(np.full(3, np.log(99)), rel=1e-9)
    higher, lower = e04_unique.THEOREM.sides(as_floats(e04_unique.THEOREM.examples[0]))
    assert higher > lower
