from dataclasses import replace

from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.verification.checks.around import certain_around, certain_box


def test_the_box_about_a_witness_is_as_wide_as_the_violation_is_certain():
    false = BINOMIAL.changed(BINOMIAL.false_neighbours[0])
    within = certain_around(false, {"x": 0.5, "y": 0.25})
    assert within is not None
    finer = replace(false, rhs=lambda x, y: x**2 + 2 * x * y + y**2 + x * y / 1000)
    assert certain_around(finer, {"x": 0.5, "y": 0.25}) > within


def test_a_bound_is_broken_around_its_witness():
    cut = PINSKER.changed(PINSKER.false_neighbours[0])
    assert certain_around(cut, {"pi": [0.501, 0.499], "ref": [0.5, 0.5]}) is not None


def test_there_is_no_box_about_what_obeys_nor_about_limits():
    assert certain_around(BINOMIAL, {"x": 0.5, "y": 0.25}) is None
    assert certain_around(PINSKER, {"pi": [0.9, 0.1], "ref": [0.5, 0.5]}) is None
    assert certain_around(LIMIT, {"x": 0.5}) is None


def test_where_no_box_is_certain_about_the_witness_one_is_about_another_instance():
    # At x = 0 the cross term makes no difference.
    false, obeying = BINOMIAL.changed(BINOMIAL.false_neighbours[0]), {"x": 0.0, "y": 0.5}
    assert certain_around(false, obeying) is None
    place, within = certain_box(false, obeying, seed=0)
    assert place != obeying
    assert certain_around(false, place) == within
    assert certain_box(BINOMIAL, obeying, seed=0) is None
