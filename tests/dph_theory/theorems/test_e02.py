import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import e02_stationary, e02_value


def test_the_update_vanishes_at_the_token_laws_only():
    given = as_floats(e02_stationary.THEOREM.examples[0])
    whole = e02_stationary.THEOREM.instances.completed(given)
    instance = {name: whole[name] for name in ("base", "verdicts", "beta")}
    assert np.abs(e02_stationary.at_the_token_law(**instance)).max() < 1e-12
    assert np.abs(e02_stationary.at_the_sequence_law(**instance)).max() > 1e-2
    assert np.abs(e02_stationary.with_the_bases_values(**instance)).max() > 1e-3


def test_the_root_by_hand():
    # Two tokens, a = (1/2, 1/2), Q = (1, 0), beta = 1/2: l^2 - 3l/2 + 1/4 = 0.
    root = (1.5 + np.sqrt(1.25)) / 2
    base, value, beta = np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), np.array([0.5])
    for side in (e02_value.root, e02_value.validity):
        assert side(base, value, beta) == pytest.approx(root - 0.5, rel=1e-12)
