import numpy as np
import pytest

from dph_theory.divergences import FORWARD_KL, JENSEN_SHANNON, REVERSE_KL, alpha_divergence
from dph_theory.statement.charts import as_floats
from dph_theory.theorems.b04 import BEYOND, COUNTEREXAMPLE, FAMILY, pinsker_bounds, squared_variation

EVERY = (FORWARD_KL, REVERSE_KL, JENSEN_SHANNON, *FAMILY)


def test_alpha_beyond_two_fails_at_the_stated_pair():
    pair = as_floats(COUNTEREXAMPLE.parts)
    distance, bound = squared_variation(**pair).item(), pinsker_bounds(BEYOND)(**pair).item()
    assert distance == pytest.approx(0.4334**2, rel=1e-13)
    closed_form = (0.4335**-1.5 * 0.0001**2.5 + 0.5665**-1.5 * 0.9999**2.5 - 1) / (2.5 * 1.5)
    assert bound == pytest.approx(closed_form / 2, rel=1e-13)
    assert bound < 0.96 * distance


@pytest.mark.parametrize("divergence", EVERY, ids=lambda d: d.name)
def test_bound_holds_at_the_stated_pair_for_the_family(divergence):
    pair = as_floats(COUNTEREXAMPLE.parts)
    assert squared_variation(**pair).item() <= pinsker_bounds((divergence,))(**pair).item()


@pytest.mark.parametrize("divergence", EVERY, ids=lambda d: d.name)
def test_bound_is_tight_near_a_fair_coin(divergence):
    pi, ref = np.array([[0.5001, 0.4999]]), np.array([[0.5, 0.5]])
    ratio = squared_variation(pi, ref).item() / pinsker_bounds((divergence,))(pi, ref).item()
    assert ratio == pytest.approx(1, abs=1e-6)


def test_chi_squared_at_a_fair_coin_is_an_equality():
    pi, ref = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    half_chi_squared = alpha_divergence(-1)
    assert pinsker_bounds((half_chi_squared,))(pi, ref) == pytest.approx(
        squared_variation(pi, ref), rel=1e-14
    )
