import numpy as np
import pytest
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.theorem import Verdict
from dph_theory.verification.checks.numeric import CHUNK, numeric, sample


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_true_statements_hold_on_every_instance(theorem):
    result = numeric(theorem, instances=12_345, seed=1)
    assert result.verdict is Verdict.HOLDS
    assert result.instances == 12_345 + len(theorem.examples)
    assert result.worst_violation <= theorem.tolerance
    assert result.witness is None


def test_a_wrong_equality_falls_with_a_short_witness():
    result = numeric(BINOMIAL.changed(BINOMIAL.false_neighbours[0]), instances=1000)
    assert result.verdict is Verdict.REFUTED
    assert set(result.witness) == {"x", "y"}
    assert len(repr(result.witness)) < 40


def test_same_seed_same_result():
    assert numeric(PINSKER, instances=3000, seed=7) == numeric(PINSKER, instances=3000, seed=7)
    assert numeric(PINSKER, instances=3000, seed=7) != numeric(PINSKER, instances=3000, seed=8)


def test_samples_reach_the_corners_and_stay_in_the_cube():
    cube = sample(PINSKER.instances, 5000, np.random.default_rng(0))
    assert cube.min() == 0.0
    assert cube.max() == 1.0
    assert 0.03 < np.isin(cube, (0.0, 1.0)).mean() < 0.15


def test_the_tightest_of_all_batches_counts():
    one, more = (numeric(PINSKER, instances=size, seed=4).tightness for size in (CHUNK, CHUNK + 1))
    assert more >= one
