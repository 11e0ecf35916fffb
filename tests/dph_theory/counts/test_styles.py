import numpy as np
import pytest
from support.sampled_counts import covers

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


def test_the_styles_and_their_change_are_covered():
    rng, trials, inside = np.random.default_rng(0), 80, []
    before, after = np.array([0.5, 0.3, 0.2]), np.array([0.8, 0.1, 0.1])
    # All have six answers with a style, so that k = 6.
    truth = [float((1 - (1 - law) ** 6).sum()) for law in (before, after)]

    def drawn(law):
        return rows(*(dict(zip("abc", map(int, c), strict=True)) for c in rng.multinomial(6, law, 25)))

    for _ in range(trials):
        found = styles(drawn(before), drawn(after))
        wanted = (*truth, truth[1] - truth[0])
        given = (found.base, found.run, found.change)
        inside.append([e.low <= w <= e.high for e, w in zip(given, wanted, strict=True)])
    for share in np.mean(inside, axis=0):
        assert covers(share, 0.95, trials, slack=0.02)
