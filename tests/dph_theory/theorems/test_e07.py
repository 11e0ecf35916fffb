import numpy as np
import pytest
from scipy.integrate import quad

from dph_theory.theorems import e07

STARTS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)


def time_back(pull, start):
    """beta times the time from mass `start` to .25 of an answer with target .5, two logits moving apart."""

    def slowness(log_odds):
        mass = 1 / (1 + np.exp(-log_odds))
        return 1 / (2 * pull(np.array([mass, 1 - mass]), np.array([0.5, 0.5]))[0])

    ends = (np.log(start / (1 - start)), np.log(0.25 / 0.75))
    return quad(slowness, *ends, epsrel=1e-10, limit=400)[0]


@pytest.mark.parametrize(
    ("pull", "times"),
    [
        (e07.own_mass_times_gap, (2.547, 15.396, 89.582, 624.152, 39315.3)),
        (e07.what_it_lacks, (1.674, 4.2871, 6.6171, 8.9224, 13.5278)),
    ],
)
def test_times_of_the_way_back(pull, times):
    assert [time_back(pull, start) for start in STARTS] == pytest.approx(times, rel=1e-5, abs=5e-4)
