import dataclasses
import math

import pytest
from support.law_outcomes import RUN, outcome

from full_scale.laws.promises import FALL, RISE, promises
from full_scale.laws.record import RunPoint


def course(*values):
    """A run measured along the way: (step, V, KL from p_*, excess KL, Pass@16) of each point."""
    found = outcome()
    points = [
        RunPoint(
            step,
            dataclasses.replace(
                found.last.exact, validity=(v,), kl_from_filtered=kl, excess_kl=excess, pass_at_k=(v, many)
            ),
            {},
        )
        for step, v, kl, excess, many in values
    ]
    return dataclasses.replace(found, run=dataclasses.replace(RUN, every=10), course=tuple(points))


def test_the_guarantee_is_as_loose_as_the_policy_is_narrow():
    (found,) = promises([course((0, 0.5, math.log(2), 0, 0.9), (10, 0.9, math.log(4), 0, 0.9))])
    assert found.guarantee == pytest.approx(0.25)
    assert found.tightest == pytest.approx(0, abs=1e-12)
    assert found.loosest == pytest.approx(0.65)


def test_the_meter_warns_before_the_fall():
    rising = (20, 0.6, 1.0, 0.01 + RISE, 0.9)
    falling = (30, 0.7, 1.0, 0.3, 0.9 - FALL)
    (found,) = promises([course((0, 0.5, 1, 0.01, 0.9), (10, 0.5, 1, 0.05, 0.85), rising, falling)])
    assert (found.warned, found.fallen) == (20, 30)


def test_what_never_happens_and_what_was_not_measured():
    (found,) = promises([course((0, 0.5, 1, 0, 0.9), (10, 0.5, 1, 0.05, 0.85))])
    assert (found.warned, found.fallen) == (None, None)
    assert promises([outcome()]) == []
