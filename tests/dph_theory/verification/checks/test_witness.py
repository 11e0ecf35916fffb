from dataclasses import replace

import pytest
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.charts import example
from dph_theory.statement.theorem import neighbour
from dph_theory.verification.checks.witness import certain_around, refuted_by, witnesses

HALVED, CUT = BINOMIAL.false_neighbours[0], PINSKER.false_neighbours[0]
PLACE = example(x=".5", y=".25").parts


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER], ids=lambda t: t.name)
def test_balls_refute_a_false_neighbour_at_its_witness_and_not_the_theorem(theorem):
    (false,) = theorem.false_neighbours
    (witness,) = witnesses(theorem, false)
    assert refuted_by(theorem.changed(false), witness) == "balls"
    assert refuted_by(theorem, witness) == ""


def test_floats_refute_limits_and_only_by_a_wide_margin():
    (false,) = LIMIT.false_neighbours
    (witness,) = witnesses(LIMIT, false)
    assert refuted_by(LIMIT.changed(false), witness) == "floats"
    hardly = replace(BINOMIAL, certified=False, rhs=lambda x, y: (x + y) ** 2 + 3e-9)
    assert hardly.violation({"x": PLACE["x"].astype(float), "y": PLACE["y"].astype(float)}) > hardly.tolerance
    assert refuted_by(hardly, PLACE) == ""
    assert refuted_by(replace(hardly, rhs=lambda x, y: (x + y) ** 2 + 1e-3), PLACE) == "floats"


def test_a_kept_witness_stands_before_the_examples():
    kept = neighbour("halved", at=example(x=".1", y=".1"), **HALVED.changes)
    assert [w["x"][0] for w in witnesses(BINOMIAL, kept)] == [example(x=".1").parts["x"][0]]
    assert [w["x"][0] for w in witnesses(BINOMIAL, HALVED)] == [PLACE["x"][0]]


def test_the_box_about_a_witness_is_as_wide_as_the_violation_is_certain():
    false = BINOMIAL.changed(HALVED)
    within = certain_around(false, PLACE)
    assert within is not None
    finer = replace(false, rhs=lambda x, y: x**2 + 2 * x * y + y**2 + x * y / 1000)
    assert certain_around(finer, PLACE) > within
    # At x = 0 the cross term makes no difference.
    assert certain_around(false, example(x="0", y=".5").parts) is None


def test_a_bound_is_broken_around_its_witness():
    cut = PINSKER.changed(CUT)
    assert certain_around(cut, example(pi=".501 .499", ref=".5 .5").parts) is not None


def test_there_is_no_box_about_what_obeys_nor_about_limits():
    assert certain_around(BINOMIAL, PLACE) is None
    assert certain_around(PINSKER, example(pi=".9 .1", ref=".5 .5").parts) is None
    assert certain_around(LIMIT, example(x=".5").parts) is None
