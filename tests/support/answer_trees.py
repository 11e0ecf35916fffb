"""Small prefix trees with verifiers: the two-token example of the theory, and random ones."""

import numpy as np

TWO_TOKENS = [np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]])]
"""Pass rate .9 after the first first token and .1 after the second."""
TWO_TOKENS_VALID = np.array([[True, False], [True, False]])


def random_tree(seed, *batch, tokens=3, length=3, valid=0.4):
    """A random base and verifier, the prefix (0, 0) dead."""
    draw = np.random.default_rng(seed)
    base = [draw.dirichlet(np.ones(tokens), size=(*batch, *(tokens,) * t)) for t in range(length)]
    verifier = draw.random((*batch, *(tokens,) * length)) < valid
    verifier[(..., 0, 0, *(slice(None),) * (length - 2))] = False
    verifier[(..., *(tokens - 1,) * length)] = True
    return base, verifier
