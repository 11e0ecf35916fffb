import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import f08


def test_the_more_valid_member_keeps_more_answers():
    smaller, larger = f08.FEWER.sides(as_floats(f08.FEWER.examples[0].parts))
    assert smaller == pytest.approx(2, rel=1e-12)
    shares = np.array([5 / 6, 1 / 6])
    assert larger == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-12)
