"""Hypothesis strategies shared by the property tests."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def laws(draw: st.DrawFn, outcomes: int = 4, zeros: bool = False) -> np.ndarray:
    """A distribution; with `zeros`, some of its masses may vanish (not all)."""
    exponents = draw(st.lists(st.floats(-25, 0), min_size=outcomes, max_size=outcomes))
    weights = np.exp(np.array(exponents))
    if zeros:
        gone = np.array(draw(st.lists(st.booleans(), min_size=outcomes, max_size=outcomes)))
        gone[draw(st.integers(0, outcomes - 1))] = False
        weights = np.where(gone, 0.0, weights)
    return weights / weights.sum()


@st.composite
def verifiers(draw: st.DrawFn, outcomes: int = 4) -> np.ndarray:
    """A verifier with at least one valid and one invalid outcome."""
    valid = np.array(draw(st.lists(st.booleans(), min_size=outcomes, max_size=outcomes)))
    first = draw(st.integers(0, outcomes - 1))
    valid[first], valid[(first + 1) % outcomes] = True, False
    return valid


rates = st.floats(1e-9, 1 - 1e-9)
betas = st.floats(1e-3, 1e3)
