"""The rate of a tilt and the distance to it, from samples of exact laws."""

import numpy as np
import pytest

from full_scale.comparison.tilt import TextSamples, distance_to_tilt, log_odds_gain

VERDICTS = np.array([0.0, 0.5, 0.6, 1.0])


def texts(rng, rate, count=200, samples=60, policy=None):
    """Texts whose policy is the base tilted at that rate, or another one."""
    found = []
    for base in rng.dirichlet(np.ones(4), size=count):
        law = base * np.exp(rate * VERDICTS)
        law = law / law.sum() if policy is None else policy(base)
        ran, drawn = (rng.choice(4, samples, p=p) for p in (law, base))
        found.append(TextSamples(VERDICTS[ran], VERDICTS[drawn], np.log(law / base)[ran]))
    return found


@pytest.mark.parametrize("rate", [0.0, 2.0, 5.0])
def test_rate_and_distance_of_a_tilt(rate):
    rng = np.random.default_rng(0)
    found = texts(rng, rate)
    gain, distance = log_odds_gain(found), distance_to_tilt(found, rate)
    assert gain.value == pytest.approx(rate, abs=gain.margin())
    assert gain.margin() < 0.5
    assert abs(distance.value) < distance.margin() < 0.2


def test_two_verdicts_are_mantel_and_haenszel():
    rng = np.random.default_rng(0)
    sides = [(rng.integers(0, 2, 8) * 1.0, rng.integers(0, 2, 8) * 1.0) for _ in range(20)]
    found = log_odds_gain([TextSamples(pi, base, pi) for pi, base in sides])
    gained = sum(pi.mean() * (1 - base.mean()) for pi, base in sides)
    lost = sum(base.mean() * (1 - pi.mean()) for pi, base in sides)
    assert found.value == pytest.approx(np.log(gained / lost))


def test_a_policy_off_the_law_has_a_distance():
    rng = np.random.default_rng(0)
    found = distance_to_tilt(texts(rng, 0, policy=lambda base: np.eye(4)[3] * 0.9 + 0.1 * base), 2.0)
    assert found.value > found.margin()


def test_unsolved_prompts_leave_the_distance_open():
    zeros = np.zeros(8)
    few = [TextSamples(zeros, zeros, zeros)] * 5
    assert distance_to_tilt(few, 5.0).bias > 3
    assert log_odds_gain(few).margin() == np.inf
