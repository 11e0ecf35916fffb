from fractions import Fraction

import numpy as np

from dph_theory.numeric.arrays import distribution, integers, mask, numbers, probability


def test_what_is_right_but_for_rounding_and_kind_passes():
    policy = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert distribution("pi", policy) is policy
    assert distribution("pi", [0.5, 0.5 + 9e-9]).tolist() == [0.5, 0.5 + 9e-9]
    assert probability("p", [1 + 2.3e-16, 1 + 9e-9, 0.5]).tolist() == [1, 1, 0.5]
    assert numbers("x", [10**20, Fraction(1, 2)]).tolist() == [1e20, 0.5]
    assert mask("valid", [1, 0, 1], np.ones(3) / 3).tolist() == [True, False, True]
    assert integers("k", 3.0, at_least=1).dtype == np.int64
