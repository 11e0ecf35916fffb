import numpy as np
import pytest

from dph_theory.statement.charts import as_floats
from dph_theory.theorems import b02

EXAMPLE = as_floats(b02.GENERATOR.examples[0].parts)


def test_the_stated_negative_value():
    assert b02.misprinted(**EXAMPLE) == pytest.approx([-0.422550110287], abs=5e-13)
    assert b02.difference_of_kls(**EXAMPLE) == pytest.approx([-0.422550110287], abs=5e-13)


def test_the_misprint_is_minus_log_two_at_one():
    ref = EXAMPLE["ref"]
    assert b02.misprinted(ref, ref) == pytest.approx([-np.log(2)], rel=1e-14)


def test_the_misprint_is_not_always_negative():
    pi, ref = np.array([[0.999, 0.001]]), np.array([[0.001, 0.999]])
    assert b02.misprinted(pi, ref) > 0


def test_only_the_first_term_misprinted_is_the_divergence_less_log_two():
    from_sides = b02.only_first_term_misprinted(**EXAMPLE)
    assert from_sides == pytest.approx([0.181131699911 - np.log(2)], abs=5e-13)
