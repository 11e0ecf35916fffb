import numpy as np
import pytest
import sympy

from dph_theory.divergences import DIVERGENCES, JENSEN_SHANNON, alpha_divergence, alpha_generator
from dph_theory.estimators import k2_of_ratio
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import b01

EXAMPLE = as_floats(b01.TEXTBOOK.examples[0].parts)
STATED = {
    "forward_kl": 0.394816205204,
    "reverse_kl": 0.360062440636,
    "jensen_shannon": 0.181131699911,
    "alpha_0.5": 0.369652392764,
}


def test_jensen_shannon_says_that_it_is_twice():
    assert "TWICE" in JENSEN_SHANNON.formula
    once = b01.jensen_shannon_itself(**EXAMPLE)
    assert JENSEN_SHANNON(**EXAMPLE) == pytest.approx(2 * once, rel=1e-14)


@pytest.mark.parametrize("divergence", [d for d in DIVERGENCES.values() if d.name != "total_variation"])
def test_library_curvature_is_the_stated_one(divergence):
    assert divergence.curvature == float(b01.STATED[divergence.name])


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.5, 0.9])
def test_alpha_is_the_family_with_curvature_one(alpha):
    declared = alpha_divergence(alpha)
    assert declared.curvature == 1
    assert sympy.simplify(declared.expression - alpha_generator(sympy.Rational(str(alpha)))) == 0


def test_alpha_reaches_both_kls_at_the_stated_rate():
    near_one, near_zero = b01.LADDER.index(1 - 2**-10), b01.LADDER.index(2**-10)
    distances, rates = b01.distances(**EXAMPLE)[0], b01.rates(**EXAMPLE)[0]
    far = len(b01.LADDER)
    for index in (near_one, far + near_zero):
        assert 0 < distances[index] < rates[index] < 1e-3


def test_reversal_fails_with_the_generator_kept():
    forwards, backwards = b01.forwards(**EXAMPLE), b01.backwards(**EXAMPLE)
    np.testing.assert_allclose(forwards, backwards, rtol=1e-13)
    kept = np.array([[d(EXAMPLE["ref"], EXAMPLE["pi"])[0] for d in b01.EVERY]])
    symmetric = np.isclose(kept, forwards)[0]
    # Jensen-Shannon, Hellinger, alpha = 1/2 and total variation, and no other.
    assert symmetric.sum() == 4


def test_merging_can_raise_a_non_convex_generator():
    pi, ref = np.array([[0.4, 0.3, 0.3]]), np.array([[0.69996, 4e-05, 0.3]])
    coarse = b01.mean_half_squared_log(b01.merged(pi), b01.merged(ref))
    assert coarse > b01.mean_half_squared_log(pi, ref)
    assert (b01.coarse(pi, ref) < b01.fine(pi, ref)).all()


def test_k2_is_concave_beyond_e():
    low, middle, high = k2_of_ratio(np.array([3.0, 6.0, 9.0]))
    assert middle > (low + high) / 2
