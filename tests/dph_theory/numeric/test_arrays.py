from fractions import Fraction

import numpy as np
import pytest

from dph_theory import FORWARD_KL
from dph_theory.binary_reward import excess_kl, valid_mass
from dph_theory.coverage import entropy, exact_pass_at_k
from dph_theory.numeric.arrays import distribution, mask, numbers, probability, whole


def test_what_is_right_but_for_rounding_and_kind_passes():
    law = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert distribution("pi", law) is law
    assert distribution("pi", [0.5, 0.5 + 9e-9]).tolist() == [0.5, 0.5 + 9e-9]
    assert probability("p", [1 + 2.3e-16, 1 + 9e-9, 0.5]).tolist() == [1, 1, 0.5]
    assert numbers("x", [10**20, Fraction(1, 2)]).tolist() == [1e20, 0.5]
    assert mask("valid", [1, 0, 1], np.ones(3) / 3).tolist() == [True, False, True]
    assert whole("k", 3.0, at_least=1).dtype == np.int64


@pytest.mark.parametrize("precision", [np.float32, np.float16])
def test_a_softmax_is_a_distribution_in_its_own_precision(precision):
    logits = np.random.default_rng(0).normal(size=(50, 1000)).astype(precision)
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    law = weights / weights.sum(axis=-1, keepdims=True)
    assert law.dtype == precision
    found = distribution("pi", law)
    assert found.dtype == np.float64
    assert np.allclose(found.sum(axis=-1), 1, rtol=0, atol=1e-14)
    assert np.allclose(found, law, rtol=8e-3 if precision == np.float16 else 2e-5, atol=0)
    with pytest.raises(ValueError, match=r"pi sums to .*within (2e-05|0\.008)"):
        distribution("pi", law * precision(1.02))


def test_results_are_in_the_precision_of_the_coarsest_argument():
    double = np.array([0.25, 0.75])
    for precision in (np.float32, np.float16):
        single = double.astype(precision)
        assert FORWARD_KL(single, double).dtype == precision
        assert entropy(q=single).dtype == precision
        assert {part.dtype for part in excess_kl(double, single, [1, 0])} == {np.dtype(precision)}
    assert FORWARD_KL(double, double).dtype == np.float64
    assert exact_pass_at_k(valid_mass(np.array([1 / 3] * 3, dtype=np.float32), [1, 1, 1]), 4) == 1
