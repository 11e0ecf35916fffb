import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import c04
from dph_theory.theorems.c04 import HORIZON


def test_one_step_that_decides_everything_attains_the_bound():
    # From the second state the first action alone succeeds, and the policies agree elsewhere.
    example = as_floats(HORIZON.examples[0].parts)
    lead = np.array([[0.6, 0.4, 0.0], [0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
    example |= {"random": np.ones(1), "horizon": np.ones(1, dtype=int), "start": np.array([[0.0, 1.0, 0.0]])}
    example |= {"chance": c04.TWO_STEPS[None].astype(float), "worth": np.array([[0.0, 0.0, 1.0]])}
    example |= {
        "pi_pef": lead[None],
        "pi": np.where(np.eye(3)[1][:, None] > 0, [[0.4, 0.4, 0.2]], lead)[None],
    }
    lhs, rhs = HORIZON.sides(example)
    assert lhs == pytest.approx(0.7 * np.log(0.7 / 0.4) + 0.3 * np.log(0.5), rel=1e-12)
    assert rhs == pytest.approx(lhs, rel=1e-12)
