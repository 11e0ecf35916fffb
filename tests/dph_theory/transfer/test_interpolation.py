import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dph_theory.transfer import chosen_anchors, interpolated


@given(st.integers(0, 10**6))
def test_whatever_was_asked_of_the_trained_prompts_the_others_follow_by_the_kernel(seed):
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(6, 9))
    K = gradients @ gradients.T
    # Any history: steps, momentum and drives of the trained prompts add up to one vector.
    asked = np.where([1, 0, 1, 0, 1, 0], rng.normal(size=6), 0.0)
    change = K @ asked
    found = interpolated(K, [4, 0, 2], change[[4, 0, 2]])
    assert found == pytest.approx(change, rel=1e-6, abs=1e-6)


def test_a_kernel_of_fewer_directions_than_prompts_is_solved():
    g = np.array([[1.0, 0.0], [0.6, 0.8], [0.8, -0.6], [-1.0, 0.0]])
    assert interpolated(g @ g.T, [0, 1, 2], g[:3] @ [1.0, 2.0]) == pytest.approx(g @ [1.0, 2.0], rel=1e-9)


@pytest.mark.parametrize("ridge", [0.01, 0.05, 0.5])
def test_anchors_are_those_that_explain_most(ridge):
    rng = np.random.default_rng(3)
    g = rng.normal(size=(9, 4))
    K = g @ g.T
    unit = g / np.linalg.norm(g, axis=1, keepdims=True)
    some, C, taken = np.array([1, 2, 4, 5, 7, 8]), unit @ unit.T, []
    for _ in range(3):

        def explained(one, C=C, taken=taken):
            block = [*taken, one]
            inverse = np.linalg.inv(C[np.ix_(block, block)] + ridge * np.eye(len(block)))
            return np.einsum("cs,st,ct->", C[np.ix_(some, block)], inverse, C[np.ix_(some, block)])

        taken.append(max((i for i in some if i not in taken), key=explained))
    assert chosen_anchors(K, some, 3, ridge=ridge).tolist() == taken
