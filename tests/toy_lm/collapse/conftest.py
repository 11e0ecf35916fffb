"""One small run of the experiment, for every test that reads a record."""

import copy

import pytest

from toy_lm.collapse import Config, run

SMALL = Config(
    strengths=(4.0, 4.5, 10.0),
    alphas=(0.75, 0.5),
    targets=(0.7, 0.9),
    starts=1,
    ascent_steps=64,
    stages=1,
    cases=1,
    random_targets=(0.999,),
    random_alphas=(0.5,),
    random_starts=1,
    rounds=1,
)


@pytest.fixture(scope="session")
def _run():
    calls = []
    return run(SMALL, seed=0, progress=lambda *call: calls.append(call)), calls


@pytest.fixture
def small_record(_run):
    """A copy of the record, to read or to change."""
    return copy.deepcopy(_run[0])


@pytest.fixture
def small_progress(_run):
    """The calls of its progress."""
    return _run[1]
