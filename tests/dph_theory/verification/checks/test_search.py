from dataclasses import replace

import numpy as np
import pytest
from support.small_theorems import BINOMIAL, LIMIT, NEEDLE, PINSKER

from dph_theory.statement.theorem import Verdict
from dph_theory.verification.checks.search import CHUNK, POPULATION, adversarial, numeric, sample


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


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_true_statements_survive_the_attack(theorem):
    result = adversarial(theorem, seed=1)
    assert result.verdict is Verdict.HOLDS
    assert result.instances > 1000


def test_the_attack_finds_what_random_points_miss():
    assert numeric(NEEDLE, instances=1000, seed=3).verdict is Verdict.HOLDS
    result = adversarial(NEEDLE, seed=3)
    assert result.verdict is Verdict.REFUTED
    assert (result.witness["x"] - 0.3) ** 2 + (result.witness["y"] - 0.7) ** 2 < 0.005**2


def test_it_measures_how_tight_a_bound_is():
    assert adversarial(PINSKER, seed=0).tightness == pytest.approx(1, abs=1e-3)


def hidden(width):
    """A statement that fails by 1e-3 within that distance of a point, and by less the further away."""
    return replace(
        NEEDLE,
        lhs=lambda x, y: 1e-3 / (1 + ((x - 0.31) ** 2 + (y - 0.83) ** 2) / width**2),
        rhs=lambda x: 5e-4 + 0 * x,
        tolerance=1e-6,
    )


@pytest.mark.parametrize("width", [0.1, 0.02, 0.005])
@pytest.mark.parametrize("seed", range(3))
def test_a_violation_on_a_small_part_of_the_cube_is_found(width, seed):
    assert adversarial(hidden(width), seed=seed).verdict is Verdict.REFUTED


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_a_wrong_constant_is_found(theorem):
    for false in theorem.false_neighbours:
        result = adversarial(theorem.changed(false), seed=5)
        assert result.verdict is Verdict.REFUTED
        assert result.witness


def test_same_seed_same_worst():
    assert adversarial(PINSKER, seed=2) == adversarial(PINSKER, seed=2)


def test_it_ends_at_the_first_population_with_a_clear_violation():
    assert adversarial(BINOMIAL.changed(BINOMIAL.false_neighbours[0]), seed=5).instances == POPULATION


def test_the_polish_climbs():
    short = {"seed": 1, "population": 8, "generations": 1}
    before, after = (adversarial(PINSKER, polish=steps, **short).worst_violation for steps in (0, 25))
    assert after > before + 1e-3
