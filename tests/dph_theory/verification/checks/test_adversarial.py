from dataclasses import replace

import pytest
from support.small_theorems import BINOMIAL, LIMIT, NEEDLE, PINSKER

from dph_theory.statement.theorem import Verdict
from dph_theory.verification.checks.adversarial import POPULATION, adversarial
from dph_theory.verification.checks.numeric import numeric


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


def test_what_one_search_misses_another_may_find():
    def island(x, y):  # Flat around it: nothing to climb.
        return 1.0 * ((x - 0.3) ** 2 + (y - 0.7) ** 2 < 0.1**2)

    flat = replace(NEEDLE, lhs=island, rhs=lambda x, y: 0 * x)
    few = {"seed": 3, "population": 5, "generations": 1}
    assert adversarial(flat, **few).verdict is Verdict.HOLDS
    assert adversarial(flat, **few, restarts=100).verdict is Verdict.REFUTED


def test_a_witness_need_not_be_readable():
    short, long = (adversarial(NEEDLE, seed=3, readable=wish).witness for wish in (True, False))
    assert set(short) == set(long)
    assert len(repr(short)) < len(repr(long))


def test_it_measures_how_tight_a_bound_is():
    assert adversarial(PINSKER, seed=0).tightness == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_every_false_neighbour_falls(theorem):
    for false in theorem.false_neighbours:
        result = adversarial(theorem.changed(false), seed=5)
        assert result.verdict is Verdict.REFUTED
        assert result.witness


def test_same_seed_same_result():
    assert adversarial(PINSKER, seed=2) == adversarial(PINSKER, seed=2)


def test_it_ends_at_the_first_population_with_a_clear_violation():
    assert adversarial(BINOMIAL.changed(BINOMIAL.false_neighbours[0]), seed=5).instances == POPULATION


def test_the_polish_climbs():
    short = {"seed": 1, "population": 8, "generations": 1}
    before, after = (adversarial(PINSKER, polish=steps, **short).worst_violation for steps in (0, 25))
    assert after > before + 1e-3
