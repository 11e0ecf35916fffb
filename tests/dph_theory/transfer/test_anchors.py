import numpy as np
import pytest

from dph_theory.transfer import chosen_anchors


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
