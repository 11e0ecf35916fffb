"""Which strategy is left: flows, sampled groups, and test numbers of the theory."""

import numpy as np
import pytest

from dph_theory.transfer.retention import group_weighting, trained_shares
from dph_theory.transfer.strategies import log_odds_with_kl

SETS, RHO, BASE = [[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]], [0.2] * 5, [0.2, 0.3, 0.5]


@pytest.mark.parametrize("scale", ["none", "std"])
def test_of_these_sets_the_most_merit_is_left_and_not_the_likeliest(scale):
    path = trained_shares(BASE, SETS, RHO, group_weighting(8, scale), [0, 3000])
    assert path[0] == pytest.approx(BASE)
    assert path[1, 0] > 0.998
    end = path[1] @ np.array(SETS).T
    for k in (1, 4, 64):  # Pass@k = Pass@1 in the end.
        assert np.mean(1 - (1 - end) ** k) == pytest.approx(0.6, abs=0.02)


def test_with_a_kl_small_steps_keep_their_digits_and_large_ones_swing():
    # Where beta is next to nothing, the walk without a KL; at beta step = 3 the deviation changes its sign.
    mean, deviation = log_odds_with_kl(0.5, 0.3, 0.2, beta=1e-17, step=0.5, groups=100)
    assert (mean, deviation) == pytest.approx((100 * 0.25 * 0.1, 0.25 * np.sqrt(100 * (0.5 - 0.01))))
    for groups, remaining in ((0, 1), (1, -0.5), (2, 0.25)):
        mean, _ = log_odds_with_kl(0.5, 0.3, 0.2, beta=3.0, step=1.0, groups=groups)
        assert mean == pytest.approx(0.1 / 3 * (1 - remaining))
