from dataclasses import replace
from math import inf

import numpy as np
import pytest
from flint import arb
from support.small_theorems import BINOMIAL, LIMIT, PINSKER

from dph_theory.statement.charts import as_floats, chart, example, uniform
from dph_theory.statement.theorem import Relation, neighbour
from dph_theory.verification.exact import Found, at, fails, falls, rational_instances, wrong_values

PLACE = example(x=".5", y=".25").parts


@pytest.mark.parametrize("theorem", [BINOMIAL, PINSKER], ids=lambda t: t.name)
def test_true_statements_hold_in_balls_and_neighbours_fail(theorem):
    places = [*rational_instances(theorem, 3, seed=1), theorem.examples[0].parts]
    assert [at(theorem, place) for place in places] == [Found.HOLDS] * 4
    (false,) = theorem.false_neighbours
    assert at(theorem.changed(false), places[-1]) is Found.FAILS
    assert falls(theorem, false)


def test_balls_see_a_difference_that_floats_cannot():
    off = replace(
        BINOMIAL, rhs=lambda x, y: (x + y) ** 2 + arb(2) ** -90 if x.dtype == object else (x + y) ** 2
    )
    assert off.violation(as_floats(PLACE))[0] == 0
    assert at(off, PLACE) is Found.FAILS
    assert fails(off, PLACE)
    assert not fails(replace(off, exact=False), PLACE)


@pytest.mark.parametrize(
    ("relation", "lhs", "rhs", "found"),
    [
        (Relation.EQUAL, arb(1), arb(1), Found.HOLDS),
        (Relation.EQUAL, arb(1, 1e-3), arb(1), Found.WIDE),
        (Relation.EQUAL, arb(1), arb(2), Found.FAILS),
        (Relation.EQUAL, arb.pos_inf(), arb.pos_inf(), Found.HOLDS),
        (Relation.EQUAL, arb.pos_inf(), arb.neg_inf(), Found.FAILS),
        (Relation.EQUAL, arb.nan(), arb(1), Found.WIDE),
        (Relation.EQUAL, arb.pos_inf(), arb(1), Found.FAILS),
        (Relation.AT_MOST, arb(1), arb(2), Found.HOLDS),
        (Relation.AT_MOST, arb(2), arb(1), Found.FAILS),
        (Relation.AT_MOST, arb(1), arb(1), Found.TIE),
        (Relation.AT_MOST, arb(1, 1e-3), arb(1), Found.WIDE),
        (Relation.AT_MOST, arb(1), arb.pos_inf(), Found.HOLDS),
    ],
)
def test_comparing_two_balls(relation, lhs, rhs, found):
    sides = {side: lambda x, value=value: np.array([value]) for side, value in (("lhs", lhs), ("rhs", rhs))}
    stated = replace(BINOMIAL, relation=relation, instances=chart(x=uniform(0, 1)), **sides)
    assert at(stated, example(x=".5").parts) is found


def test_precision_is_raised_until_the_balls_decide():
    tiny = replace(
        BINOMIAL,
        relation=Relation.AT_MOST,
        instances=chart(x=uniform(0, 1)),
        lhs=lambda x: (x + arb(10) ** -100) - x,
        rhs=lambda x: 2 * ((x + arb(10) ** -100) - x),
    )
    assert at(tiny, example(x=".1").parts) is Found.HOLDS


def test_a_tie_in_one_component_says_nothing_of_all():
    both = replace(
        BINOMIAL,
        relation=Relation.AT_MOST,
        lhs=lambda x, y: np.stack([x, y], axis=-1),
        rhs=lambda x, y: np.stack([x + 1, y], axis=-1),
    )
    assert at(both, PLACE) is Found.TIE


def refusing(x, y):
    raise ValueError("x is not allowed")


def test_only_what_the_chart_calls_outside_its_domain_is_no_evidence():
    broken = replace(BINOMIAL, lhs=refusing)
    with pytest.raises(ValueError, match="not allowed"):
        at(broken, PLACE)
    bounded = replace(broken, instances=BINOMIAL.instances.within(lambda x: x < 0.5))
    assert at(bounded, PLACE) is Found.TIE


def test_a_neighbour_falls_at_its_own_witness():
    def off(x, y):
        return (x + y) ** 2 + ((x - 1 / 8) ** 2 < 1e-20) * 1.0

    kept = neighbour("off at x = 1/8", at=example(x=".125", y=".5"), rhs=off, exact=False)
    assert falls(BINOMIAL, kept)
    assert not falls(BINOMIAL, replace(kept, witness=None))
    assert falls(LIMIT, LIMIT.false_neighbours[0])


def test_values_kept_with_examples_must_be_given_to_their_last_digit():
    def with_value(theorem=BINOMIAL, **value):
        return wrong_values(replace(theorem, examples=(example(x=".5", y=".25", **value),)))

    assert with_value(value=".5625") == with_value(lhs=".563") == with_value(rhs=".56") == []
    assert with_value(value=".5635") == [f"example 1: {s} = 0.5625, not .5635" for s in ("lhs", "rhs")]
    # Floats would not see the twentieth digit; balls do.
    assert with_value(lhs=".56250000000000000003") != []
    assert with_value(lhs=".5625 .5") != []
    infinite = replace(BINOMIAL, lhs=lambda x, y: 0 * x + inf)
    assert with_value(infinite, lhs="inf") == []
    assert with_value(infinite, lhs="-inf") != []
    in_floats = replace(BINOMIAL, exact=False)
    assert with_value(in_floats, lhs=".5625000001") == []
    assert with_value(in_floats, lhs=".5625001") != []


def test_a_loosened_bound_is_seen_by_both_values_at_its_example():
    loose = replace(PINSKER, rhs=lambda pi, ref: 1.0001 * PINSKER.rhs(pi, ref))
    assert wrong_values(PINSKER) == []
    assert wrong_values(loose) == ["example 1: rhs = 0.000100030007335467, not .000100020005334934"]
