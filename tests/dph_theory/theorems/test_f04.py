import numpy as np
import pytest

from dph_theory import filtered
from dph_theory.statement.charts import as_floats
from dph_theory.theorems import f04
from dph_theory.theorems._laws import entropy


def test_entropy_rises_from_one_wrong_answer_to_three_right_ones():
    instance = as_floats(f04.ENTROPY.examples[0].parts)
    after, before = f04.ENTROPY.sides(instance)
    assert before == pytest.approx(0.940447988655, abs=5e-13)
    assert after == pytest.approx(1.386025044259, abs=5e-13)
    even = filtered(instance["base"], instance["valid"])[:, 1:]
    assert entropy(even) == pytest.approx(1.098612288668, abs=5e-13)
    assert entropy(even) == pytest.approx(np.log(3))
