import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import e05_last, e05_shared


def test_one_deciding_token():
    tokens, sequences = e05_last.THEOREM.sides(as_floats(e05_last.THEOREM.examples[0]))
    assert tokens == pytest.approx(sequences, abs=1e-14)
    instance = as_floats(e05_last.THEOREM.examples[0])
    assert (
        np.abs(e05_last.token_laws_of_both(**instance) - e05_last.sequence_laws_of_both(**instance)).max()
        > 0.01
    )


def test_two_prompts_with_opposite_verdicts_teach_nothing():
    q, base = np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]])
    one, other = np.array([[True, False]]), np.array([[False, True]])
    beta = np.array([0.5])
    # The mean verdict is 1/2 throughout, so the law is the base.
    by_hand = 1 - (0.5 * np.log(0.5 / 0.2) + 0.5 * np.log(0.5 / 0.8))
    for side in (e05_shared.objective, e05_shared.from_the_mean_tilt):
        assert side(q, base, one, other, beta) == pytest.approx(by_hand, rel=1e-12)
