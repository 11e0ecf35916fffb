import numpy as np
import pytest

from dph_theory.theorems import a01


@pytest.mark.parametrize(
    ("valid", "dimension"),
    [([True, False, False, False], 0), ([True, False, True, False], 1), ([True, True, True, False], 2)],
)
def test_the_face_has_one_dimension_less_than_valid_outcomes(valid, dimension):
    base, valid = np.array([[0.1, 0.2, 0.3, 0.4]]), np.array([valid])
    assert a01.spanned_and_left_free(base, valid).tolist() == [[dimension, dimension]]
    assert a01.size_less_one(valid).tolist() == [[dimension]]


def test_every_maximiser_is_fully_valid():
    policy, valid = np.array([[0.5, 0.2, 0.3]]), np.array([[True, True, False]])
    for other in ([0.9, 0.05, 0.05], [0.01, 0.98, 0.01]):
        distance = a01.distance_to_valid(policy, np.array([other]), valid)
        assert distance >= a01.missing_reward(policy, valid) == pytest.approx(0.3, rel=1e-14)
