import numpy as np
import pytest

from dph_theory.binary_reward import tilted
from dph_theory.theorems.coverage import falling_pass_at_k as strategies

Q, RHO = np.array([[0.5, 0.3, 0.2]]), np.array([[0.6, 0.4]])
SUCCESS = np.array([[[1.0, 0.2, 0.1], [0.1, 0.2, 1.0]]])


def test_pass_at_k_by_enumeration():
    by_hand = 0.6 * (1 - 0.42**3) + 0.4 * (1 - 0.69**3)
    assert strategies.shared_pass_at_k(Q, RHO, SUCCESS, np.array([3])) == pytest.approx(by_hand, rel=1e-14)


def test_training_is_the_tilted_model_for_a_binary_reward():
    valid, gain = np.array([[True, False, False]]), np.array([2.5])
    trained = strategies.trained(Q, valid.astype(float), gain)
    assert trained == pytest.approx(tilted(Q, valid, 1 / gain), rel=1e-14)
    assert strategies.trained_pass_at_k(Q, RHO, SUCCESS, np.array([2]), 0 * gain) == pytest.approx(
        strategies.shared_pass_at_k(Q, RHO, SUCCESS, np.array([2])), rel=1e-14
    )
