import numpy as np
import pytest

from dph_theory import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.counts.laws import BASE_RATES, NO_CHANGE, laws
from dph_theory.laws import normalised_validity_at, validity_at

DIVERGENCES = dict(
    zip(BASE_RATES, (REVERSE_KL, FORWARD_KL, JENSEN_SHANNON, alpha_divergence(0.5)), strict=True)
)
BEFORE = np.array([1e-4, 0.05, 0.3, 0.9])


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_laws_are_those_that_roots_give(name, beta):
    known = {law.name: law for law in laws(8)}
    plain = known[f"{name}, advantages not divided"].rates(BEFORE, beta)
    assert plain == pytest.approx(validity_at(BEFORE, beta, DIVERGENCES[name]), abs=1e-3)
    divided = known[f"{name}, advantages divided (groups of 8)"].rates(BEFORE[1:3], beta)
    wanted = normalised_validity_at(BEFORE[1:3], beta, 8, "std", DIVERGENCES[name])
    assert divided == pytest.approx(wanted, abs=1e-3)


def test_base_rates_of_zero_and_one_stay():
    for law in (*laws(4), NO_CHANGE):
        assert law.rates(np.array([0.0, 1.0]), 0.5).tolist() == [0, 1]


def test_of_several_stable_rates_the_one_reached_from_the_base_is_taken():
    reached = laws(32)[4].rates(np.array([0.01]), 0.42)
    assert reached == pytest.approx(0.504222, abs=1e-5)
