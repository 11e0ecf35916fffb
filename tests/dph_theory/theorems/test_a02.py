import numpy as np
import pytest
from support.plain_flow import AT_TEN, BASE, VALID, exact_flow

from dph_theory.dynamics import decision
from dph_theory.theorems import a02


def test_the_limit_is_uniform_on_the_richest_and_is_not_the_filtered_model():
    weights = np.array([[3.0, 2.0, 1.0, 4.0], [2.0, 2.0, 1.0, 4.0], [2.0, 2.0, 2.0, 4.0]])
    valid = np.repeat(VALID, 3, axis=0)
    limits = np.array([[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0]])
    assert decision.uniform_on_likeliest(weights, valid) == pytest.approx(limits)
    assert a02.near_the_end(weights, valid, 1e-8) == pytest.approx(limits, abs=1e-6)
    apart = np.abs(a02.filtered_model(weights, valid) - limits).max(axis=-1)
    # Only where a is constant on Y1 is the limit p_*.
    assert apart == pytest.approx([1 / 2, 1 / 5, 0], abs=1e-15)


def test_the_ratio_of_two_poorer_outputs_converges():
    ratios = a02.limit_of_ratio(np.array([[3.0, 2.0, 1.0, 4.0]]), VALID)[0]
    # (5 - 10/3)/(10 - 10/3), from 1/2 at the start; both ratios to the richest vanish.
    assert ratios[1, 2] == pytest.approx(0.25, rel=1e-15)
    assert ratios[0, 1] == ratios[0, 2] == 0
    policy = decision.softmax(exact_flow(1e6))[0]
    assert policy[2] / policy[1] == pytest.approx(0.25, abs=1e-3)


def test_log_ratios_at_time_ten():
    time = np.array([10.0])
    started = a02.starting_ratio(BASE, VALID)[0]
    ended = a02.later_ratio(BASE, VALID, time)[0]
    for richer, poorer in ((0, 1), (0, 2), (1, 2)):
        assert started[richer, poorer] == pytest.approx(np.log(BASE[0, richer] / BASE[0, poorer]), rel=1e-14)
        assert ended[richer, poorer] == pytest.approx(np.log(AT_TEN[richer] / AT_TEN[poorer]), abs=1e-6)
        assert ended[richer, poorer] > started[richer, poorer]


def test_a_likelier_invalid_output_keeps_more_than_its_share_of_the_way():
    # .4 against the richest valid .3: over it, up to left .4/.3, and early on above left itself.
    left = np.array([0.9, 1e-3, 1e-6])
    policy = decision.orbit(np.repeat(BASE, 3, axis=0), np.repeat(VALID, 3, axis=0), left)
    ratio = policy[:, 3] / policy[:, 0]
    assert (ratio < left * 4 / 3).all()
    assert ratio[0] > left[0]
