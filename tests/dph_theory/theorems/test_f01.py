import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import _tokens, f01_future, f01_loss


def test_the_loss_leaves_out_what_the_correction_adds():
    instance = as_floats(f01_future.THEOREM.examples[0])
    whole, with_future = f01_future.THEOREM.sides(instance)
    assert whole == pytest.approx(with_future, abs=1e-15)
    in_the_loss = f01_loss.in_the_loss(instance["first"], instance["ref_first"])
    left_out = _tokens.kl_to_come(instance["first"], instance["second"], instance["ref_second"])
    assert whole - in_the_loss == pytest.approx(left_out, abs=1e-15)
    assert np.abs(left_out).max() > 0.01
