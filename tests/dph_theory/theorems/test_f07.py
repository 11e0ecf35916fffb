import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import f07


def test_the_counterexample_in_numbers():
    without, penalised = f07.DECAY.sides(as_floats(f07.DECAY.examples[0].parts))
    # log Z - A1 s with A1 = .6, at s = t = 2 and at s = (1 - e^(-beta t))/beta = 2 (1 - 1/e).
    for found, s in ((without, 2.0), (penalised, 2 * (1 - np.exp(-1)))):
        assert found == pytest.approx(np.log(0.4 + 0.6 * np.exp(s)) - 0.6 * s, rel=1e-12)
    assert penalised < without / 1.5
