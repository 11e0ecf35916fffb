import pytest

from dph_theory.counts.rows import row
from dph_theory.counts.styles import styles


def rows(*counts):
    return [row({"id": i, "n": 8, "c": 4, "style": c}) for i, c in enumerate(counts)]


def test_styles_are_compared_at_equal_numbers_of_answers():
    found = styles(rows({"a": 2, "b": 2}, {"a": 4}, None), rows({"a": 2}, {"a": 2, "b": 1}, {"a": 4}))
    assert (found.prompts, found.k) == (2, 2)
    # Two of aabb differ with chance 2/3, two of aab with chance 2/3.
    assert found.base.value == pytest.approx((5 / 3 + 1) / 2)
    assert found.run.value == pytest.approx((1 + 5 / 3) / 2)
    assert styles(rows(None), rows({"a": 2})) is None
