import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _tokens, f01


def test_the_loss_leaves_out_what_the_correction_adds():
    instance = as_floats(f01.FUTURE.examples[0].parts)
    whole, with_future = f01.FUTURE.sides(instance)
    assert whole == pytest.approx(with_future, abs=1e-15)
    in_the_loss = f01.in_the_loss(instance["first"], instance["ref_first"])
    left_out = _tokens.kl_to_come(instance["first"], instance["second"], instance["ref_second"])
    assert whole - in_the_loss == pytest.approx(left_out, abs=1e-15)
    assert np.abs(left_out).max() > 0.01
