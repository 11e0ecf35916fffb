from dataclasses import replace

import numpy as np
import pytest
from support.small_theorems import BINOMIAL, LIMIT, NEEDLE, PINSKER

from dph_theory.verification.charts import example
from dph_theory.verification.reports import SearchSettings
from dph_theory.verification.search import sample, search, smallest

SHORT = SearchSettings(1000, 64, 5)


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER, LIMIT], ids=lambda t: t.name)
def test_true_statements_survive_and_false_neighbours_fall(theorem):
    found = search(theorem, SHORT, seed=1)
    assert found.worst <= theorem.tolerance
    assert found.witness is None
    assert found.instances > 1000 + 64
    false = search(theorem.changed(theorem.false_neighbours[0]), SHORT, seed=5)
    assert false.worst > theorem.tolerance
    assert false.witness


def test_a_violation_at_random_ends_the_search_with_a_short_witness():
    found = search(BINOMIAL.changed(BINOMIAL.false_neighbours[0]), SHORT, seed=0)
    assert found.instances == 1000 + len(BINOMIAL.examples)
    assert set(found.witness) == {"x", "y"}
    assert len(repr(found.witness)) < 40


def test_a_theorem_whose_instances_are_costly_asks_for_a_share_of_them():
    costly = replace(PINSKER, share=0.05)
    few, all_of_them = (search(t, SearchSettings(20_000, 64, 20), 1).instances for t in (costly, PINSKER))
    assert 1000 < few < all_of_them / 10
    assert search(costly, SearchSettings(500, 64, 5), 1).instances > 200
    assert SearchSettings().part(costly.share).polish < SearchSettings().polish
    false = costly.changed(costly.false_neighbours[0])
    assert search(false, SearchSettings(20_000, 64, 20), 1).witness


def test_same_seed_same_result():
    assert search(PINSKER, SHORT, 7) == search(PINSKER, SHORT, 7) != search(PINSKER, SHORT, 8)


def test_samples_reach_the_corners_and_stay_in_the_cube():
    cube = sample(PINSKER.instances, 5000, np.random.default_rng(0))
    assert (cube.min(), cube.max()) == (0.0, 1.0)
    assert 0.03 < np.isin(cube, (0.0, 1.0)).mean() < 0.15


def test_the_optimiser_finds_what_random_points_miss():
    assert search(NEEDLE, SearchSettings(1000, 8, 0), 3).instances > 1000
    found = search(replace(NEEDLE, examples=()), SearchSettings(1000), 3)
    assert (found.witness["x"] - 0.3) ** 2 + (found.witness["y"] - 0.7) ** 2 < 0.005**2


@pytest.mark.parametrize("width", [0.1, 0.02, 0.005])
@pytest.mark.parametrize("seed", range(3))
def test_a_violation_on_a_small_part_of_the_cube_is_found(width, seed):
    # It fails by 1e-3 within that distance of a point, and by less the further away.
    def lhs(x, y):
        return 1e-3 / (1 + ((x - 0.31) ** 2 + (y - 0.83) ** 2) / width**2)

    hidden = replace(NEEDLE, lhs=lhs, rhs=lambda x: 5e-4 + 0 * x, tolerance=1e-6, examples=())
    assert search(hidden, SearchSettings(1), seed).witness


def test_a_violation_at_a_kept_instance_alone_is_found():
    def off(x, y):
        return (x + y) ** 2 + ((x - 1 / 8) ** 2 < 1e-20) * 1.0

    kept = replace(BINOMIAL, rhs=off, examples=(example(x=".125", y=".5"),))
    assert search(kept, SHORT, 0).witness == {"x": 0.125, "y": 0.5}
    assert search(replace(kept, examples=()), SHORT, 0).witness is None


def test_the_smallest_witness_still_violates_and_one_that_no_rounding_keeps_stays():
    false = PINSKER.changed(PINSKER.false_neighbours[0])
    law = np.array([[0.49871234, 0.50128766]])
    witness = smallest(false, {"pi": law, "ref": law[:, ::-1]})
    assert false.violation({k: np.array([v]) for k, v in witness.items()})[0] > false.tolerance
    assert len(repr(witness)) < len(repr({"pi": law[0].tolist(), "ref": law[0, ::-1].tolist()}))
    unsaid = {"pi": np.array([[0.3, 0.7]]), "ref": np.array([[0.5, 0.5]])}
    assert smallest(PINSKER, unsaid) == {"pi": [0.3, 0.7], "ref": [0.5, 0.5]}
